import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import {
  fetchJson,
  bearer,
  connectClient,
  rejection,
  startPicoServer,
  token,
  waitFor,
  wsLines,
} from "../../../support/pico-server-harness.ts";

const b64 = (text: string): string => Buffer.from(text).toString("base64url");

const protocol = (list: string): string => `Sec-WebSocket-Protocol: ${list}`;

describe("step 7: WebSocket, version 13", () => {
  test("rejects another version with 426", async () => {
    await using testServer = await startPicoServer();
    const lines = [...wsLines.map((line) => line.replace("Version: 13", "Version: 8")), bearer];
    const headers = { upgrade: "websocket", "sec-websocket-version": "13" };
    expect(await testServer.sendRaw("/pico", { lines })).toMatchObject(
      rejection(426, "upgrade_required", headers),
    );
  });
  test("responds to GET /pico/ws with 426, or 401 without a token", async () => {
    await using testServer = await startPicoServer();
    expect(await fetchJson(testServer.port, "/pico/ws")).toMatchObject({
      status: 426,
      headers: { upgrade: "websocket" },
    });
    expect(
      (await fetchJson(testServer.port, "/pico/ws", { headers: { authorization: "" } })).status,
    ).toBe(401);
  });
  test("explains a missing Upgrade header with 426", async () => {
    await using testServer = await startPicoServer();
    const answer = await fetchJson(testServer.port, "/pico", {
      headers: { "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" },
    });
    expect(answer).toMatchObject(rejection(426, "upgrade_required"));
    expect(answer.body["message"]).toContain("The Upgrade header is missing");
  });
  test("serves an upgrade to another protocol as plain HTTP", async () => {
    await using testServer = await startPicoServer();
    const lines = [
      "Connection: Upgrade, HTTP2-Settings",
      "Upgrade: h2c",
      "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA",
      bearer,
    ];
    expect(await testServer.sendRaw("/pico", { lines })).toMatchObject({
      status: 200,
      body: { protocol: "pico" },
    });
  });
});

describe("step 8: WebSocket and extension parameters", () => {
  const without = (name: string) => [...wsLines.filter((line) => !line.startsWith(name)), bearer];
  test.each<[string, string, readonly string[], string]>([
    ["no key", "/pico", without("Sec-WebSocket-Key"), "bad_handshake"],
    [
      "a bad key",
      "/pico",
      [...without("Sec-WebSocket-Key"), "Sec-WebSocket-Key: short"],
      "bad_handshake",
    ],
    ["two keys", "/pico", [...wsLines, wsLines[3]!, bearer], "bad_handshake"],
    ["an empty subprotocol", "/pico", [...wsLines, bearer, protocol("a,,b")], "bad_handshake"],
    [
      "a malformed subprotocol name",
      "/pico",
      [...wsLines, bearer, protocol("a b")],
      "bad_handshake",
    ],
    ["a subprotocol twice", "/pico", [...wsLines, bearer, protocol("chat, chat")], "bad_handshake"],
    ["two sessions", "/pico?session_id=a&session_id=b", [...wsLines, bearer], "bad_handshake"],
    [
      "a long session",
      `/pico?session_id=${"%C3%A9".repeat(129)}`,
      [...wsLines, bearer],
      "invalid_session_id",
    ],
    [
      "a control character in the session",
      "/pico?session_id=a%07b",
      [...wsLines, bearer],
      "invalid_session_id",
    ],
  ])("%s is 400", async (_, path, lines, error) => {
    await using testServer = await startPicoServer();
    expect(await testServer.sendRaw(path, { lines })).toMatchObject(rejection(400, error));
  });
  test("accepts a session id of 256 bytes and an empty one", async () => {
    await using testServer = await startPicoServer();
    expect((await testServer.sendRaw(`/pico?session_id=${"a".repeat(256)}`)).status).toBe(101);
    expect((await testServer.sendRaw("/pico?session_id=")).status).toBe(101);
  });
  test("checks the parameters only after the token", async () => {
    await using testServer = await startPicoServer();
    const lines = ["Connection: Upgrade", "Upgrade: websocket"];
    expect((await testServer.sendRaw("/pico?session_id=%07", { lines })).status).toBe(401);
  });
});

describe("step 9: max_connections", () => {
  test("defaults to 100", async () => {
    await using testServer = await startPicoServer();
    expect(testServer.services.picoServer.status().maxConnections).toBe(100);
  });
  test("responds with 503 and Retry-After until a slot is free", async () => {
    await using testServer = await startPicoServer({ config: { max_connections: 2 } });
    const first = await testServer.connect();
    await testServer.connect();
    const refused = await testServer.sendRaw("/pico");
    expect(refused).toMatchObject(rejection(503, "too_many_connections", { "retry-after": "5" }));
    first.ws.close();
    await testServer.fact("pico-server:disconnected");
    expect((await testServer.sendRaw("/pico")).status).toBe(101);
  });
  test("limits concurrent handshakes and frees slots of rejected ones", async () => {
    await using testServer = await startPicoServer({ config: { max_connections: 5 } });
    let most = 0;
    const sockets = Array.from({ length: 20 }, () => {
      const ws = new WebSocket(`ws://127.0.0.1:${testServer.port}/pico`, {
        headers: { authorization: `Bearer ${token}` },
      });
      ws.on("error", () => undefined);
      return ws;
    });
    await waitFor(() => {
      most = Math.max(most, testServer.services.picoServer.status().connections);
      return sockets.every(({ readyState }) => readyState !== WebSocket.CONNECTING);
    });
    expect(most).toBeLessThanOrEqual(5);
    sockets.forEach((ws) => ws.terminate());
    await waitFor(() => testServer.services.picoServer.status().connections === 0);
    await Promise.all(Array.from({ length: 5 }, () => connectClient(testServer.port, "/pico")));
  });
});

describe("step 10: subprotocol of the response", () => {
  test.each<[string, readonly string[], string | undefined]>([
    ["pico.v1 when it was offered", [protocol(`token.${token}, pico.v1`)], "pico.v1"],
    ["pico.v1 with a header token", [bearer, protocol("chat, pico.v1")], "pico.v1"],
    ["the item with the token", [protocol(`chat, token.${token}`)], `token.${token}`],
    [
      "the item in the form it was offered",
      [protocol(`chat,token64.${b64(token)}`)],
      `token64.${b64(token)}`,
    ],
    ["none when the token came otherwise", [bearer, protocol("chat, superchat")], undefined],
    ["none for a wrong item with a valid header", [bearer, protocol("token.wrong")], undefined],
    ["none when none was offered", [bearer], undefined],
  ])("%s", async (_, lines, echo) => {
    await using testServer = await startPicoServer();
    const { status, headers } = await testServer.sendRaw("/pico", {
      lines: [...wsLines, ...lines],
    });
    expect([status, headers["sec-websocket-protocol"]]).toEqual([101, echo]);
    expect(headers["referrer-policy"]).toBe("no-referrer");
    expect(headers["sec-websocket-extensions"]).toBeUndefined();
  });
  test("repeats the offered bytes of a non-ASCII token", async () => {
    const own = "schlüssel-für-die-tür-🔑-lang-genug";
    await using testServer = await startPicoServer({ token: own });
    const offered = `token.${Buffer.from(own).toString("latin1")}`;
    const { headers } = await testServer.sendRaw("/pico", {
      lines: [...wsLines, protocol(offered)],
    });
    expect(headers["sec-websocket-protocol"]).toBe(offered);
  });

  test("opens a browser WebSocket with its token item", async () => {
    await using testServer = await startPicoServer();
    const ws = new WebSocket(`ws://127.0.0.1:${testServer.port}/pico`, [`token.${token}`]);
    await once(ws, "open");
    expect(ws.protocol).toBe(`token.${token}`);
    ws.terminate();
  });
});
