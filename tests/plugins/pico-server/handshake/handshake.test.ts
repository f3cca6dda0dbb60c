import { describe, expect, test } from "vitest";
import { createKernel, type Plugin } from "../../../../kernel/index.ts";
import { createCapturedLog } from "../../../../kernel/testing.ts";
import { channels } from "../../../../plugins/channels/index.ts";
import { http, type Http } from "../../../../plugins/http/index.ts";
import { picoServer } from "../../../../plugins/pico-server/index.ts";
import { memory, tokenStore } from "../../../../plugins/token-store/index.ts";
import {
  fetchJson,
  bearer,
  sendRaw,
  rejection,
  startPicoServer,
  token,
  wsLines,
} from "../../../support/pico-server-harness.ts";

const protocol = (list: string): string => `Sec-WebSocket-Protocol: ${list}`;

describe("upgrade paths", () => {
  test.each(["/pico", "/pico/", "/pico/ws", "/pico/ws/"])(
    "accept WebSockets at %s",
    async (path) => {
      await using testServer = await startPicoServer();
      expect((await testServer.sendRaw(path)).status).toBe(101);
    },
  );
});

describe("handshake checks", () => {
  test("report the faults of a request in order", async () => {
    const settings = {
      enabled: false,
      max_connections: 1,
      allow_origins: ["https://app.example.org"],
    };
    await using testServer = await startPicoServer({ config: settings });
    const faults = {
      method: "POST",
      origin: "https://evil.example",
      offered: "token.one, token.other",
      token: "wrong",
      version: 8,
      session: "a%07",
    };
    const answer = async (mended: Partial<typeof faults> = {}): Promise<unknown> => {
      const { method, session, ...o } = Object.assign(faults, mended);
      const lines = [
        ...wsLines.filter((line) => !/version/i.test(line)),
        `Sec-WebSocket-Version: ${o.version}`,
        `Origin: ${o.origin}`,
        protocol(o.offered),
        `Authorization: Bearer ${o.token}`,
      ];
      const { status, body } = await testServer.sendRaw(`/pico?session_id=${session}`, {
        method,
        lines,
      });
      return [status, body.error];
    };
    expect(await answer()).toEqual([404, "not_found"]);
    await testServer.configure({ enabled: true });
    expect(await answer()).toEqual([405, "method_not_allowed"]);
    expect(await answer({ method: "GET" })).toEqual([403, "origin_not_allowed"]);
    expect(await answer({ origin: "https://app.example.org" })).toEqual([400, "bad_handshake"]);
    expect(await answer({ offered: "chat" })).toEqual([401, "token_mismatch"]);
    expect(await answer({ token })).toEqual([426, "upgrade_required"]);
    expect(await answer({ version: 13 })).toEqual([400, "invalid_session_id"]);
    const other = await testServer.connect();
    expect(await answer({ session: "a" })).toEqual([503, "too_many_connections"]);
    other.ws.terminate();
    await testServer.fact("pico-server:disconnected");
    expect(await answer()).toEqual([101, undefined]);
    testServer.removeToken();
    expect(await answer({ method: "POST", origin: "https://evil.example" })).toEqual([
      503,
      "token_not_configured",
    ]);
  });
});

describe("step 1: disabled channel and unknown paths", () => {
  test.each([
    ["GET", "/pico"],
    ["OPTIONS", "/pico"],
    ["POST", "/pico/messages"],
    ["GET", "/pico/ws"],
  ])("%s %s is 404 while the channel is off", async (method, path) => {
    await using testServer = await startPicoServer({ config: { enabled: false } });
    expect(await testServer.sendRaw(path, { method, lines: [bearer] })).toMatchObject(
      rejection(404, "not_found"),
    );
  });
  test("rejects an upgrade with 404 while the channel is off", async () => {
    await using testServer = await startPicoServer({ config: { enabled: false } });
    const answer = await testServer.sendRaw("/pico");
    expect(answer).toMatchObject(rejection(404, "not_found"));
    expect(answer.headers).toMatchObject({
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    });
    expect(await testServer.fact("pico-server:refused")).toMatchObject({
      code: "not_found",
      address: "127.0.0.1",
    });
  });
  test("rejects an unknown path with 404", async () => {
    await using testServer = await startPicoServer();
    expect(await fetchJson(testServer.port, "/pico/nothing")).toMatchObject(
      rejection(404, "not_found"),
    );
  });
});

describe("step 2: not ready", () => {
  /**
   * Sends requests while the listener is open and the channel is not: before it is ready, and after
   * it stopped.
   */
  async function whileClosed(asks: (port: number) => Promise<unknown>): Promise<unknown[]> {
    const seen: unknown[] = [];
    const witness: Plugin<{ needs: { http: Http } }> = {
      name: "witness",
      api: 1,
      needs: { http: true },
      start({ needs, onReady }) {
        onReady(async () => {
          const port = Number(needs.http.addresses()[0]!.port);
          seen.push(await asks(port));
          return async () => void seen.push(await asks(port));
        });
      },
    };
    const tokens = tokenStore(memory({ pico: token }));
    const kernel = createKernel([tokens, channels(), http({ port: 0 }), witness, picoServer()], {
      config: { "channels.pico": { enabled: true } },
      log: createCapturedLog().log,
    });
    await kernel.start();
    await kernel.stop();
    return seen;
  }
  test("responds with 503 unavailable and Retry-After while starting or stopping", async () => {
    const unavailable = {
      status: 503,
      body: { error: "unavailable", retryAfterSeconds: 2 },
      headers: { "retry-after": "2" },
    };
    const seen = await whileClosed((port) =>
      Promise.all([sendRaw(port, "/pico"), fetchJson(port, "/pico")]),
    );
    expect(seen).toMatchObject([
      [unavailable, unavailable],
      [unavailable, unavailable],
    ]);
  });
  test("responds with 503 token_not_configured and Retry-After without a token", async () => {
    await using testServer = await startPicoServer();
    testServer.removeToken();
    const answer = await testServer.sendRaw("/pico");
    expect(answer).toMatchObject(rejection(503, "token_not_configured"));
    expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
    expect((await fetchJson(testServer.port, "/pico")).status).toBe(503);
  });
});

describe("step 3: request method", () => {
  test.each([
    ["POST", "/pico", [...wsLines, bearer], "GET, HEAD, OPTIONS"],
    ["DELETE", "/pico", [bearer], "GET, HEAD, OPTIONS"],
    ["GET", "/pico/messages", [bearer], "POST, OPTIONS"],
    ["PUT", "/pico/ws", [bearer], "GET, HEAD, OPTIONS"],
  ])("%s %s is 405 and names what is allowed", async (method, path, lines, allow) => {
    await using testServer = await startPicoServer();
    expect(await testServer.sendRaw(path, { method, lines })).toMatchObject({
      status: 405,
      body: { error: "method_not_allowed" },
      headers: { allow },
    });
  });
});
