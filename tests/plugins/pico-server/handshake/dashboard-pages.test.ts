import { describe, expect, test } from "vitest";
import type { Plugin } from "../../../../kernel/index.ts";
import type { Message } from "../../../../plugins/channels/index.ts";
import type { Http } from "../../../../plugins/http/index.ts";
import {
  fetchJson,
  sendRaw,
  rejection,
  startPicoServer,
  wsLines,
} from "../../../support/pico-server-harness.ts";

describe("step 3a: dashboard pages", () => {
  const page = (port: number, changes: readonly string[] = []) => [
    ...wsLines,
    "Cookie: session=good",
    `Origin: http://localhost:${port}`,
    ...changes,
  ];
  const endings: ((reason: string) => void)[] = [];
  const signIns: Plugin<{ needs: { http: Http } }> = {
    name: "sign-ins",
    api: 1,
    needs: { http: true },
    start({ needs }) {
      const onEnd = (ended: (reason: string) => void) => {
        endings.push(ended);
        return () => void endings.splice(endings.indexOf(ended), 1);
      };
      needs.http.registerIdentity("session", (request) =>
        request.headers.cookie === "session=good" ? { id: "a", onEnd } : undefined,
      );
    },
  };
  const open = (options: object = {}) => startPicoServer({ plugins: [signIns], ...options });

  test("accepts a signed-in page, also with allow_origins set", async () => {
    await using testServer = await open({ config: { allow_origins: ["https://app.example.org"] } });
    expect((await testServer.sendRaw("/pico", { lines: page(testServer.port) })).status).toBe(101);
    const expected = { method: "dashboard", user: "owner" };
    expect(await testServer.fact("pico-server:connected")).toMatchObject(expected);
  });
  test("rejects a signed-in browser on another origin", async () => {
    await using testServer = await open();
    const lines = [...wsLines, "Cookie: session=good", "Origin: http://localhost:1"];
    const { body, status } = await testServer.sendRaw("/pico", { lines });
    expect([status, body.error]).toEqual([401, "sign_in_rejected"]);
    expect(body["message"]).toContain("The page is on http://localhost:1;");
    expect(body["message"]).toContain(`only pages of http://localhost:${testServer.port}`);
    expect((await testServer.sendRaw("/pico", { lines: lines.slice(0, -1) })).body.error).toBe(
      "token_missing",
    );
  });
  test("rejects a signed-in page with a wrong token", async () => {
    await using testServer = await open();
    const wrong = page(testServer.port, ["Authorization: Bearer wrong"]);
    expect((await testServer.sendRaw("/pico", { lines: wrong })).body.error).toBe("token_mismatch");
  });
  test("rejects plain requests of a signed-in page", async () => {
    await using testServer = await open();
    expect(
      (await testServer.sendRaw("/pico", { lines: page(testServer.port).slice(4) })).body.error,
    ).toBe("token_missing");
  });
  test("serves event streams, messages and stops to signed-in pages only", async () => {
    for (const gateway of [false, true]) {
      await using testServer = await open({ gateway, app: (message: Message) => message.accept() });
      const { dashboardPort: port } = testServer;
      const own = { origin: `http://127.0.0.1:${port}` };
      const post = (path: string, changes: Record<string, string> = {}, body = "{}") =>
        fetch(`http://127.0.0.1:${port}${path}`, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            cookie: "session=good",
            ...own,
            ...changes,
          },
          body,
        });
      const events = "/pico/events?session_id=s&pico_ext=1&pico_can=turns";
      const stream = await post(events);
      expect(stream.status).toBe(200);
      const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      while (!text.includes("data: ")) text += (await reader.read()).value ?? "";
      expect(text).toMatch(/\ndata: {"type":"hello",/);
      const message = JSON.stringify({ session_id: "s", id: "m", content: "hello" });
      expect((await post("/pico/messages", {}, message)).status).toBe(202);
      expect((await post("/pico/stop", {}, '{"session_id":"s"}')).status).toBe(200);
      const expected = { method: "dashboard", user: "owner", session: "s" };
      expect(await testServer.fact("pico-server:connected")).toMatchObject(expected);
      for (const path of [events, "/pico/messages", "/pico/stop"])
        for (const wrong of [{ origin: "http://localhost:1" }, { cookie: "session=bad" }])
          expect((await post(path, wrong, message)).status).toBe(gateway ? 404 : 401);
      endings.splice(0).forEach((end) => end("sign-out"));
      while (!(await reader.read()).done);
    }
  });
  test("separates sign-ins and tokens when the channels have a listener", async () => {
    await using testServer = await open({ gateway: true });
    const { dashboardPort, port } = testServer;
    expect((await sendRaw(port, "/pico", { lines: page(port) })).body.error).toBe("token_missing");
    expect((await sendRaw(port, "/pico")).status).toBe(101);
    expect((await sendRaw(dashboardPort, "/pico", { lines: page(dashboardPort) })).status).toBe(
      101,
    );
    expect(await sendRaw(dashboardPort, "/pico")).toMatchObject(rejection(404, "not_found"));
    expect((await fetchJson(dashboardPort, "/pico")).status).toBe(404);
  });
  test("keeps its connection after a rotation, until the sign-out", async () => {
    await using testServer = await open();
    const headers = { cookie: "session=good", origin: `http://127.0.0.1:${testServer.port}` };
    const peer = await testServer.connect("/pico", { token: null, headers });
    await testServer.services.tokenSecrets.replace("pico", { expect: 1 });
    testServer.removeToken();
    await peer.settled();
    endings.splice(0).forEach((end) => end("sign-out"));
    expect(await peer.closed).toEqual({ code: 1008, reason: "session_ended" });
  });
});
