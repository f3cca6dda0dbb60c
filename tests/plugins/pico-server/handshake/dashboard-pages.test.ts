import { describe, expect, test } from "vitest";
import type { Plugin } from "../../../../kernel/index.ts";
import type { Http } from "../../../../plugins/http/index.ts";
import { ask, knock, refusal, stand, wsLines } from "../../../support/pico-server-harness.ts";

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
  const open = (options: object = {}) => stand({ plugins: [signIns], ...options });

  test("accepts a signed-in page, also with allow_origins set", async () => {
    await using door = await open({ config: { allow_origins: ["https://app.example.org"] } });
    expect((await door.knock("/pico", { lines: page(door.port) })).status).toBe(101);
    const expected = { method: "dashboard", user: "owner" };
    expect(await door.fact("pico-server:connected")).toMatchObject(expected);
  });
  test("rejects a signed-in browser on another origin", async () => {
    await using door = await open();
    const lines = [...wsLines, "Cookie: session=good", "Origin: http://localhost:1"];
    expect((await door.knock("/pico", { lines })).body.error).toBe("token_missing");
    expect((await door.knock("/pico", { lines: lines.slice(0, -1) })).body.error).toBe(
      "token_missing",
    );
  });
  test("rejects a signed-in page with a wrong token", async () => {
    await using door = await open();
    const wrong = page(door.port, ["Authorization: Bearer wrong"]);
    expect((await door.knock("/pico", { lines: wrong })).body.error).toBe("token_mismatch");
  });
  test("rejects plain requests of a signed-in page", async () => {
    await using door = await open();
    expect((await door.knock("/pico", { lines: page(door.port).slice(4) })).body.error).toBe(
      "token_missing",
    );
  });
  test("separates sign-ins and tokens when the channels have a listener", async () => {
    await using door = await open({ gateway: true });
    const { dashboardPort, port } = door;
    expect((await knock(port, "/pico", { lines: page(port) })).body.error).toBe("token_missing");
    expect((await knock(port, "/pico")).status).toBe(101);
    expect((await knock(dashboardPort, "/pico", { lines: page(dashboardPort) })).status).toBe(101);
    expect(await knock(dashboardPort, "/pico")).toMatchObject(refusal(404, "not_found"));
    expect((await ask(dashboardPort, "/pico")).status).toBe(404);
  });
  test("keeps its connection after a rotation, until the sign-out", async () => {
    await using door = await open();
    const headers = { cookie: "session=good", origin: `http://127.0.0.1:${door.port}` };
    const peer = await door.connect("/pico", { token: null, headers });
    await door.services.tokenSecrets.replace("pico", { expect: 1 });
    door.removeToken();
    await peer.settled();
    endings.splice(0).forEach((end) => end("sign-out"));
    expect(await peer.closed).toEqual({ code: 1008, reason: "session_ended" });
  });
});
