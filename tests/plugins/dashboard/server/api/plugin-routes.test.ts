import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { codeOf, type AnyPlugin, type Plugin } from "../../../../../kernel/index.ts";
import type { DashboardApi } from "../../../../../plugins/dashboard/index.ts";
import {
  TOKEN,
  block,
  setupBackend,
  rejection,
  signIn,
  startDashboard,
  wrongToken,
} from "../../../../support/dashboard-server.ts";

type Handle = Parameters<DashboardApi["route"]>[1];

/** Creates a plugin that serves `/api/x/<name>`. */
function routed(name: string, handle: Handle): AnyPlugin {
  const plugin: Plugin<{ needs: { dashboardApi: DashboardApi } }> = {
    name,
    api: 1,
    needs: { dashboardApi: true },
    start: ({ needs }) => needs.dashboardApi.route(name, handle),
  };
  return plugin as unknown as AnyPlugin;
}
/** Responds with the request it received. */
const echo: Handle = async (request, response, signIn) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  response.setHeader("content-type", "application/json");
  const body = Buffer.concat(chunks).toString();
  response.end(
    JSON.stringify({ method: request.method, url: request.url, body, signIn: signIn?.id ?? null }),
  );
};
const bearer = { authorization: `Bearer ${TOKEN}` };

describe("/api/x/<name>/…", () => {
  test("passes the unchanged body of any type to the plugin", async () => {
    await using server = await startDashboard({ plugins: [routed("toy", echo)] });
    const session = await signIn(server);
    const { signIn: signInId } = server.facts[0]!.fact;
    expect(await (await server.get("/api/x/toy", session)).json()).toEqual({
      method: "GET",
      url: "/api/x/toy",
      body: "",
      signIn: signInId,
    });
    expect(await (await server.get("/api/x/toy/a/b?c=1", bearer)).json()).toEqual({
      method: "GET",
      url: "/api/x/toy/a/b?c=1",
      body: "",
      signIn: null,
    });
    for (const type of [
      "application/json",
      "text/plain",
      "application/x-www-form-urlencoded",
      "image/png",
    ]) {
      for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
        const answer = await server.request("/api/x/toy/sub", {
          method,
          headers: { ...session, "content-type": type },
          body: "{not json",
        });
        expect(await answer.json()).toMatchObject({ method, body: "{not json" });
      }
    }
    expect(
      await (await server.request("/api/x/toy", { method: "POST", headers: session })).json(),
    ).toMatchObject({ body: "" });
  });

  test("adds the common headers to every response", async () => {
    await using server = await startDashboard({ plugins: [routed("toy", echo)] });
    const answer = await server.get("/api/x/toy", bearer);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "x-frame-options": "DENY",
      "content-type": "application/json",
    });
  });

  test("runs after all checks", async () => {
    let reached = 0;
    const handle: Handle = (_, response) => {
      reached += 1;
      response.end();
    };
    await using server = await startDashboard({ plugins: [routed("toy", handle)] });
    await using fresh = await startDashboard({
      form: setupBackend(),
      plugins: [routed("toy", handle)],
    });
    const session = await signIn(server);
    await rejection(await server.get("/api/x/toy"), 401, "unauthorized");
    await rejection(
      await server.get("/api/x/toy", { authorization: `Bearer ${wrongToken(1)}`, ...session }),
      401,
      "invalid_token",
    );
    await rejection(
      await server.get("/api/x/toy", { ...session, host: "evil.example" }),
      403,
      "host_not_allowed",
    );
    await rejection(
      await server.post("/api/x/toy", {}, { ...session, origin: "https://evil.example" }),
      403,
      "origin_not_allowed",
    );
    await rejection(
      await server.form("/api/x/toy", {}, { ...session, origin: "null" }),
      403,
      "origin_not_allowed",
    );
    await rejection(await fresh.get("/api/x/toy", bearer), 403, "setup_required");
    await block(server);
    await rejection(
      await server.get("/api/x/toy", { authorization: `Bearer ${wrongToken(2)}` }),
      429,
      "rate_limited",
    );
    expect(reached).toBe(0);
    await server.get("/api/x/toy", session);
    expect(reached).toBe(1);
  });

  test("answers 404 to unknown names and 413 over 1 MiB", async () => {
    await using server = await startDashboard({ plugins: [routed("toy", echo)] });
    for (const path of ["/api/x/other", "/api/x/toys", "/api/x", "/api/x/"]) {
      await rejection(await server.get(path, bearer), 404, "not_found");
    }
    const big = {
      method: "POST",
      headers: { ...bearer, "content-type": "text/plain" },
      body: "x".repeat(1_048_577),
    };
    await rejection(await server.request("/api/x/toy", big), 413, "body_too_large");
    expect(
      (await server.request("/api/x/toy", { ...big, body: "x".repeat(1_048_576) })).status,
    ).toBe(200);
  });

  test("answers 500 without detail if a handler throws or rejects", async () => {
    const broken: Handle[] = [
      () => {
        throw new Error("a detail");
      },
      async () => {
        await new Promise(setImmediate);
        throw new Error("a detail");
      },
    ];
    await using server = await startDashboard({
      plugins: broken.map((handle, n) => routed(`toy${n}`, handle)),
    });
    for (const name of ["toy0", "toy1"]) {
      const body = await rejection(await server.get(`/api/x/${name}`, bearer), 500, "internal");
      expect(JSON.stringify(body)).not.toContain("a detail");
    }
    expect(server.lines.filter(({ level }) => level === "error")).toMatchObject([
      { during: "/api/x/toy0" },
      { during: "/api/x/toy1" },
    ]);
    expect((await server.get("/healthz")).status).toBe(200);
  });

  test("closes the connection if a handler fails after its headers", async () => {
    await using server = await startDashboard({
      plugins: [
        routed("toy", async (_, response) => {
          await new Promise<void>((written) => void response.write("half", () => written()));
          throw new Error("broken off");
        }),
      ],
    });
    await expect(server.get("/api/x/toy", bearer)).rejects.toThrow();
    expect((await server.get("/healthz")).status).toBe(200);
  });

  test("notifies the plugin when the sign-in ends", async () => {
    const reasons: string[] = [];
    await using server = await startDashboard({
      plugins: [
        routed("toy", (_, response, signIn) => {
          signIn?.onEnd((reason) => reasons.push(reason));
          response.end();
        }),
      ],
    });
    const session = await signIn(server);
    await server.get("/api/x/toy", session);
    await server.post("/logout", {}, session);
    expect(reasons).toEqual(["sign-out"]);
  });

  test("fails the start if two plugins use one name", async () => {
    const again = { ...routed("toy", echo), name: "toy-again" } as AnyPlugin;
    const failed = await startDashboard({ plugins: [routed("toy", echo), again] }).catch(
      (error: unknown) => error,
    );
    expect(codeOf(failed)).toBe("dashboard_route_taken");
    expect((failed as Error).message).toContain("/api/x/toy");
  });
});

describe("body without Content-Length", () => {
  const head = [
    "POST /api/x/toy HTTP/1.1",
    `Authorization: Bearer ${TOKEN}`,
    "Transfer-Encoding: chunked",
  ];
  const chunk = `${(64 * 1024).toString(16)}\r\n${"x".repeat(64 * 1024)}\r\n`;

  /** Sends chunks until the server closes the connection. Resolves to the response. */
  async function pour(server: { port: number }): Promise<{ sent: number; text: string }> {
    const socket = connect(server.port, "127.0.0.1");
    let text = "";
    let sent = 0;
    const closed = new Promise((done) => socket.once("close", done));
    socket
      .on("error", () => undefined)
      .on("data", (data: Buffer) => {
        text += data.toString();
      });
    socket.write([...head, `Host: localhost:${server.port}`, "", ""].join("\r\n"));
    const more = (): void => {
      while (!socket.destroyed && sent < 64 * 1024 * 1024 && socket.write(chunk))
        sent += chunk.length;
      sent += chunk.length;
    };
    socket.on("drain", more);
    more();
    await closed;
    return { sent, text };
  }

  test("leads to 413 beyond 1 MiB", async () => {
    const outcomes: string[] = [];
    let bytes = 0;
    const reads: Handle = async (request) => {
      try {
        for await (const part of request) bytes += (part as Buffer).byteLength;
        outcomes.push("whole");
      } catch (error) {
        outcomes.push((error as NodeJS.ErrnoException).code ?? "");
      }
    };
    await using server = await startDashboard({ plugins: [routed("toy", reads)] });
    const { text } = await pour(server);
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    expect(text).toContain('"error":"body_too_large"');
    expect(text).toContain("Referrer-Policy: no-referrer");
    expect(bytes).toBeLessThanOrEqual(1024 * 1024);
    expect(outcomes).not.toContain("whole");
  });

  test("arrives completely up to 1 MiB", async () => {
    await using server = await startDashboard({ plugins: [routed("toy", echo)] });
    const answer = await server.request("/api/x/toy", {
      method: "POST",
      body: "y".repeat(1024 * 1024),
      headers: { ...bearer, "transfer-encoding": "chunked", "content-length": null },
    });
    expect(((await answer.json()) as { body: string }).body).toHaveLength(1024 * 1024);
  });
});
