import { connect, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import type { Application, Message } from "../../../../plugins/channels/index.ts";
import {
  fetchJson,
  bearer,
  rejection,
  startPicoServer,
  token,
  waitFor,
  wsLines,
  type PicoTestServer,
} from "../../../support/pico-server-harness.ts";

const post = (port: number, body: unknown, headers: Record<string, string> = {}) =>
  fetchJson(port, "/pico/messages", { method: "POST", body, headers });

describe("GET /pico", () => {
  test("returns the protocol, the limits and the connection count", async () => {
    await using testServer = await startPicoServer();
    await testServer.connect();
    const { status, headers, body } = await fetchJson(testServer.port, "/pico");
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      "content-type": "application/json; charset=utf-8",
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
    });
    expect(body).toEqual({
      protocol: "pico",
      version: 1,
      features: ["messages", "events", "wait", "pico_ext", "history"],
      connections: 1,
      limits: {
        max_payload: 33_554_432,
        content: 1_048_576,
        medium: 20_971_520,
        outbound: 524_288,
        max_connections: 100,
        message_rate: 100,
        message_burst: 200,
        ping_interval: 30,
        read_timeout: 60,
      },
    });
  });
  test("requires the token like a handshake", async () => {
    await using testServer = await startPicoServer({ config: { allow_token_query: true } });
    const probe = (authorization: string) =>
      fetchJson(testServer.port, "/pico", { headers: { authorization } });
    expect(await probe("")).toMatchObject(rejection(401, "token_missing"));
    expect(await probe("Bearer no")).toMatchObject(rejection(401, "token_mismatch"));
    expect(
      (
        await fetchJson(testServer.port, `/pico/?token=${token}`, {
          headers: { authorization: "" },
        })
      ).status,
    ).toBe(200);
  });
  test("responds to HEAD like GET without a body", async () => {
    await using testServer = await startPicoServer();
    const { status, headers } = await testServer.sendRaw("/pico", {
      method: "HEAD",
      lines: [bearer],
    });
    expect([status, Number(headers["content-length"]) > 100]).toEqual([200, true]);
  });
});

describe("POST /pico/messages", () => {
  test("responds with 202 and sends replies to the session", async () => {
    const app: Application = async ({ content, reply }) =>
      void (await reply({ content: `you said ${content}` }));
    await using testServer = await startPicoServer({ app });
    const peer = await testServer.connect("/pico?session_id=s1");
    const { status, body } = await post(testServer.port, {
      session_id: "s1",
      id: "m1",
      content: "hi",
    });
    expect([status, body]).toEqual([
      202,
      { status: "accepted", request_id: "m1", session_id: "s1" },
    ]);
    expect(await peer.next()).toMatchObject({
      type: "message.create",
      session_id: "s1",
      payload: { content: "you said hi" },
    });
  });
  test("generates missing ids", async () => {
    const taken: Message[] = [];
    await using testServer = await startPicoServer({ app: (message) => void taken.push(message) });
    const { status, body } = await post(testServer.port, { content: "hi" });
    expect(status).toBe(202);
    expect(taken[0]).toMatchObject({
      channel: "pico",
      id: body["request_id"],
      session: body["session_id"],
    });
  });
  test("treats a repeated id as duplicate, or rejects different content", async () => {
    const taken: Message[] = [];
    await using testServer = await startPicoServer({ app: (message) => void taken.push(message) });
    const send = async (content: string, id?: string) => {
      const { status, body } = await post(testServer.port, {
        session_id: "s1",
        content,
        ...(id && { id }),
      });
      return [status, body["status"] ?? body["error"]];
    };
    expect(await send("a", "m1")).toEqual([202, "accepted"]);
    expect(await send("a", "m1")).toEqual([202, "duplicate"]);
    expect(await send("b", "m1")).toEqual([409, "id_reused"]);
    expect(await send("a")).toEqual([202, "accepted"]);
    expect(await send("a")).toEqual([202, "accepted"]);
    expect(taken).toHaveLength(3);
  });
  test.each<[number, string, unknown]>([
    [400, "invalid_message", "{"],
    [400, "invalid_message", []],
    [400, "invalid_message", { content: "x", session_id: "a\u0007" }],
    [422, "empty_content", { content: " " }],
    [422, "invalid_media", { media: "https://example.org/a.png" }],
    [413, "too_large", { content: "x".repeat(1_048_577) }],
    [409, "loop", { content: "x", hops: 9 }],
  ])("%i %s", async (status, error, body) => {
    await using testServer = await startPicoServer();
    expect(await post(testServer.port, body)).toMatchObject(rejection(status, error));
    expect(await testServer.fact("pico-server:refused")).toMatchObject({ code: error });
  });
  test("responds with 503 no_application, or 500 without details", async () => {
    await using alone = await startPicoServer({ app: null });
    expect(await post(alone.port, { content: "x" })).toMatchObject(
      rejection(503, "no_application"),
    );
    await using broken = await startPicoServer({ app: () => Promise.reject(new Error("fire")) });
    const answer = await post(broken.port, { content: "x" });
    expect(answer).toMatchObject(rejection(500, "internal"));
    expect(JSON.stringify(answer)).not.toContain("fire");
  });
  test("rejects other content types and bodies above max_payload", async () => {
    await using testServer = await startPicoServer({ config: { max_payload: 2_000 } });
    expect((await post(testServer.port, "hi", { "content-type": "text/plain" })).status).toBe(415);
    const large = { content: "x".repeat(3_000) };
    expect(await post(testServer.port, large)).toMatchObject(rejection(413, "body_too_large"));
    expect(await post(testServer.port, large, { "transfer-encoding": "chunked" })).toMatchObject(
      rejection(413, "body_too_large"),
    );
    expect(
      (
        await post(
          testServer.port,
          { content: "x" },
          { "content-type": "application/json; charset=utf-8" },
        )
      ).status,
    ).toBe(202);
  });
  test("responds with 429 beyond message_burst until the next second", async () => {
    await using testServer = await startPicoServer({
      config: { message_rate: 1, message_burst: 2 },
    });
    const codes = [];
    for (let n = 0; n < 3; n++) codes.push((await post(testServer.port, { content: "x" })).status);
    expect(codes).toEqual([202, 202, 429]);
    testServer.clock.increment(1_000);
    expect((await post(testServer.port, { content: "x" })).status).toBe(202);
  });
  test("waits for the application and tolerates a disconnecting client", async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => void (release = resolve));
    const taken: string[] = [];
    await using testServer = await startPicoServer({
      app: async ({ content }) => {
        taken.push(content);
        await held;
      },
    });
    const answer = post(testServer.port, { content: "x" });
    await waitFor(() => taken.length === 1);
    release();
    expect((await answer).status).toBe(202);
  });
});

describe("cross-origin requests", () => {
  const origin = "https://app.example.org";
  const cors = {
    "access-control-allow-origin": origin,
    vary: "Origin",
    "access-control-expose-headers": "Retry-After, WWW-Authenticate",
    "cross-origin-resource-policy": "cross-origin",
  };
  const corsNames = (headers: object) =>
    Object.keys(headers).filter((name) => name.startsWith("access-control"));

  test.each(["/pico", "/pico/", "/pico/ws", "/pico/ws/", "/pico/messages", "/pico/events"])(
    "respond to OPTIONS %s with 204 without a token",
    async (path) => {
      await using testServer = await startPicoServer();
      const { status, headers } = await fetchJson(testServer.port, path, {
        method: "OPTIONS",
        headers: { origin, authorization: "" },
      });
      expect(status).toBe(204);
      expect(headers).toMatchObject({
        ...cors,
        "access-control-allow-methods": "GET, HEAD, POST, PATCH, DELETE",
        "access-control-allow-headers":
          "authorization, content-type, content-disposition, x-doorward-sha256, range, if-range, " +
          "last-event-id, tus-resumable, upload-length, upload-metadata, upload-offset, " +
          "x-http-method-override",
      });
      expect(headers["access-control-allow-credentials"]).toBeUndefined();
    },
  );
  test("let an allowed origin read all responses, including errors", async () => {
    await using testServer = await startPicoServer({ config: { allow_origins: [origin] } });
    for (const [status, path, authorization] of [
      [200, "/pico", `Bearer ${token}`],
      [401, "/pico", "Bearer no"],
      [426, "/pico/ws", `Bearer ${token}`],
      [404, "/pico/none", ""],
    ] as const) {
      const answer = await fetchJson(testServer.port, path, { headers: { origin, authorization } });
      expect(answer.status).toBe(status);
      expect(answer.headers).toMatchObject(cors);
    }
  });
  test("skip the Host and method checks of the dashboard", async () => {
    await using testServer = await startPicoServer();
    const headers = {
      host: "evil.example",
      origin: "https://evil.example",
      "sec-fetch-site": "cross-site",
    };
    const posted = await post(testServer.port, { content: "x" }, headers);
    expect([posted.status, posted.headers["access-control-allow-origin"]]).toEqual([
      202,
      headers.origin,
    ]);
    const lines = [...wsLines, bearer, "Host: evil.example", "Origin: https://evil.example"];
    expect((await testServer.sendRaw("/pico", { lines })).status).toBe(101);
  });
  test("reject other origins without CORS headers", async () => {
    await using testServer = await startPicoServer({ config: { allow_origins: [origin] } });
    const foreign = "https://evil.example";
    const answer = await fetchJson(testServer.port, "/pico", { headers: { origin: foreign } });
    expect(answer).toMatchObject(
      rejection(403, "origin_not_allowed", { "cross-origin-resource-policy": "same-origin" }),
    );
    const preflight = await fetchJson(testServer.port, "/pico", {
      method: "OPTIONS",
      headers: { origin: foreign },
    });
    for (const { headers } of [answer, preflight]) expect(corsNames(headers)).toEqual([]);
  });
  test("carry no CORS headers without an Origin header", async () => {
    await using testServer = await startPicoServer();
    const { headers } = await fetchJson(testServer.port, "/pico");
    expect(corsNames(headers)).toEqual([]);
  });
});

describe("POST /pico/messages with a slow body", () => {
  const begin = async (testServer: PicoTestServer): Promise<Socket> => {
    const socket = connect(testServer.port, "127.0.0.1");
    const head = [
      "POST /pico/messages HTTP/1.1",
      "Host: localhost",
      bearer,
      "Content-Type: application/json",
    ];
    socket.write([...head, "Content-Length: 10000000", "", '{"content":"'].join("\r\n"));
    return socket;
  };

  test("times out below 16 KiB per second after half a minute", async () => {
    await using testServer = await startPicoServer();
    const socket = await begin(testServer);
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => void (text += chunk));
    await testServer.pass(29, () => fetchJson(testServer.port, "/pico"));
    expect(text).toBe("");
    // The time started with the first bytes, whenever the server read them.
    while (!text.includes("request_timeout"))
      await testServer.pass(1, () => fetchJson(testServer.port, "/pico"));
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
    socket.destroy();
  });

  test("continues while the body arrives fast enough", async () => {
    await using testServer = await startPicoServer();
    const socket = await begin(testServer);
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => void (text += chunk));
    for (let round = 0; round < 8; round++) {
      await new Promise((done) => socket.write("x".repeat(100_000), done));
      await fetchJson(testServer.port, "/pico");
      await testServer.pass(5, () => fetchJson(testServer.port, "/pico"));
    }
    expect(text).toBe("");
    socket.destroy();
  });
});
