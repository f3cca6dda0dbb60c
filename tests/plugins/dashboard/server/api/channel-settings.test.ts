import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  bearer,
  channelOf,
  pico,
  withChannel,
  type Channel,
} from "../../../../support/dashboard-channel.ts";
import {
  TOKEN,
  rejection,
  signIn,
  startDashboard,
  wrongToken,
  type DashboardServer,
  type HeaderLines,
} from "../../../../support/dashboard-server.ts";

const put = (
  server: DashboardServer,
  body: unknown,
  etag?: string,
  headers: HeaderLines = bearer,
): Promise<Response> =>
  server.request("/api/channels/pico", {
    method: "PUT",
    body: JSON.stringify(body),
    headers: {
      "content-type": "application/json",
      ...headers,
      ...(etag === undefined ? {} : { "if-match": etag }),
    },
  });
const change = async (server: DashboardServer, body: unknown): Promise<Response> =>
  put(server, body, (await channelOf(server)).etag);
const text = async (home: string, file: string): Promise<string> =>
  readFile(join(home, file), "utf8").catch(() => "");

describe("PUT /api/channels/pico", () => {
  test("generates a token and enables the channel immediately", () =>
    withChannel(async (server, home) => {
      expect((await server.get("/pico")).status).toBe(404);
      const answer = await change(server, { enabled: true });
      const body = (await answer.json()) as Record<string, unknown>;
      expect([answer.status, body]).toEqual([
        200,
        { now: ["enabled"], afterRestart: [], etag: expect.any(String) },
      ]);
      expect(answer.headers.get("cache-control")).toBe("no-store");
      const [, token = ""] =
        /token: "?([0-9a-f]{64})"?/.exec(await text(home, ".security.yml")) ?? [];
      expect(token).toHaveLength(64);
      expect(JSON.parse(await text(home, "config.json"))).toEqual({
        channels: { pico: { enabled: true } },
      });
      expect(JSON.stringify(body) + server.logged()).not.toContain(token);
      expect(await channelOf(server)).toMatchObject({ enabled: true, etag: body["etag"] });
      expect((await server.get("/pico", { authorization: `Bearer ${token}` })).status).toBe(200);
    }));

  test("keeps an existing token and other keys of the file", () =>
    withChannel(
      async (server, home) => {
        expect((await change(server, { enabled: true, max_connections: 5 })).status).toBe(200);
        expect(await text(home, ".security.yml")).toBe("");
        const after = JSON.parse(await text(home, "config.json")) as unknown;
        expect(after).toEqual({
          channels: { pico: { enabled: true, max_connections: 5 } },
          other: 1,
        });
        expect((await change(server, { enabled: false })).status).toBe(200);
        expect(await channelOf(server)).toMatchObject({ enabled: false, maxConnections: 5 });
      },
      {
        config: '{"channels":{"pico":{}},"other":1}',
        env: { SERVICE_CHANNELS_PICO_TOKEN: "0123456789abcdef0123" },
      },
    ));

  test("accepts a session of this origin", () =>
    withChannel(async (server) => {
      const session = await signIn(server);
      const { etag = "" } = await channelOf(server);
      await rejection(
        await put(server, { enabled: true }, etag, { ...session, origin: "https://evil.example" }),
        403,
        "origin_not_allowed",
      );
      expect(
        (await put(server, { enabled: true }, `"${etag}"`, { ...session, origin: server.origin }))
          .status,
      ).toBe(200);
      await rejection(await put(server, { enabled: true }, etag, {}), 401, "unauthorized");
    }));

  test("requires a current etag in If-Match", () =>
    withChannel(async (server, home) => {
      await rejection(await put(server, { enabled: true }), 428, "etag_required");
      for (const etag of ["x", "*", '""', 'W/"0"']) {
        await rejection(await put(server, { enabled: true }, etag), 412, "etag_mismatch");
      }
      const { etag = "" } = await channelOf(server);
      expect((await put(server, { max_connections: 7 }, etag)).status).toBe(200);
      await rejection(await put(server, { max_connections: 8 }, etag), 412, "etag_mismatch");
      expect(JSON.parse(await text(home, "config.json"))).toEqual({
        channels: { pico: { max_connections: 7 } },
      });
      expect(await text(home, ".security.yml")).toBe("");
    }));

  test("answers 412 after an edit of the file", () =>
    withChannel(async (server, home) => {
      const { etag } = await channelOf(server);
      await writeFile(join(home, "config.json"), '{"channels":{"pico":{"ping_interval":20}}}');
      await rejection(await put(server, { enabled: true }, etag), 412, "etag_mismatch");
      expect(await text(home, "config.json")).toBe('{"channels":{"pico":{"ping_interval":20}}}');
    }));

  test("accepts one of two parallel requests with the same etag", () =>
    withChannel(async (server, home) => {
      const { etag } = await channelOf(server);
      const answers = await Promise.all(
        [5, 6].map((max_connections) => put(server, { max_connections }, etag)),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
      const winner = answers.findIndex(({ status }) => status === 200);
      expect(JSON.parse(await text(home, "config.json"))).toEqual({
        channels: { pico: { max_connections: [5, 6][winner] } },
      });
    }));

  test("answers 422 with the field name to an invalid value", () =>
    withChannel(async (server, home) => {
      for (const patch of [
        { max_connections: 0 },
        { enabled: "yes" },
        { enabled: true, max_payload: 1 },
        { ping_intervall: 5 },
      ]) {
        const { message } = await rejection(await change(server, patch), 422, "invalid_setting");
        expect(message).toContain(`channels.pico.${Object.keys(patch).at(-1)!}`);
      }
      expect((await text(home, "config.json")) + (await text(home, ".security.yml"))).toBe("");
      expect(await channelOf(server)).toMatchObject({ enabled: false });
    }));

  test("rejects tokens, nested and dotted keys and unknown fields", () =>
    withChannel(async (server, home) => {
      for (const patch of [
        { token: "0123456789abcdef0123" },
        { "channels.pico.token": "x" },
        { pico: { token: "x" } },
        { handler: "x" },
        { "": 1 },
      ]) {
        await rejection(await change(server, patch), 422, "field_not_editable");
      }
      const raw = (body: string, etag: string): Promise<Response> =>
        server.request("/api/channels/pico", {
          method: "PUT",
          headers: { ...bearer, "content-type": "application/json", "if-match": etag },
          body,
        });
      await rejection(
        await raw('{"__proto__":{"enabled":true}}', (await channelOf(server)).etag!),
        400,
        "invalid_body",
      );
      expect(await text(home, "config.json")).toBe("");
    }));

  test("answers 422 with the variable that sets a field", () =>
    withChannel(
      async (server) => {
        const { etag } = (
          (await (await server.get("/api/status", bearer)).json()) as { channel: Channel }
        ).channel;
        const { message } = await rejection(
          await put(server, { max_connections: 5 }, etag),
          422,
          "invalid_setting",
        );
        expect(message).toContain("SERVICE_CHANNELS_PICO_MAX_CONNECTIONS");
      },
      { env: { SERVICE_CHANNELS_PICO_MAX_CONNECTIONS: "9" } },
    ));

  test("answers 400 to a body other than an object", () =>
    withChannel(async (server) => {
      for (const body of [[], null, 5, "x"])
        await rejection(await put(server, body, "x"), 400, "invalid_body");
      await rejection(
        await server.request("/api/channels/pico", { method: "PUT", headers: bearer }),
        400,
        "invalid_body",
      );
    }));

  test("requires the launcher token for allow_origins and allow_token_query", () =>
    withChannel(async (server, home) => {
      for (const patch of [
        { allow_origins: ["https://a.example"] },
        { allow_token_query: true },
        { enabled: true, allow_token_query: true },
      ]) {
        for (const current of [
          {},
          { current: "" },
          { current: " " },
          { current: 5 },
          { current: [TOKEN] },
        ]) {
          await rejection(await change(server, { ...patch, ...current }), 400, "invalid_body");
        }
        await rejection(
          await change(server, { ...patch, current: wrongToken(1) }),
          403,
          "invalid_token",
        );
      }
      expect((await text(home, "config.json")) + (await text(home, ".security.yml"))).toBe("");
      expect(
        (await change(server, { allow_origins: ["https://a.example"], current: TOKEN })).status,
      ).toBe(200);
      expect(JSON.parse(await text(home, "config.json"))).toEqual({
        channels: { pico: { allow_origins: ["https://a.example"] } },
      });
      expect(server.lines.filter(({ via }) => via === "current")).toMatchObject([
        { reason: "invalid_token", count: 1 },
      ]);
      expect(server.logged()).not.toContain(wrongToken(1));
    }));

  test("answers 503 and changes nothing if a write fails", () =>
    withChannel(async (server, home) => {
      const { etag } = await channelOf(server);
      await rm(home, { recursive: true });
      await writeFile(home, "in the way");
      try {
        await rejection(await put(server, { max_connections: 7 }, etag), 503, "store_unavailable");
      } finally {
        await rm(home);
        await mkdir(home);
      }
      expect(await channelOf(server)).toMatchObject({ maxConnections: 100 });
    }));

  test("answers 404 without a channel and 422 without files", async () => {
    await using none = await startDashboard();
    await rejection(await put(none, { enabled: true }, "x"), 404, "not_found");
    await using memoryOnly = await startDashboard({ before: pico() });
    await rejection(await put(memoryOnly, { enabled: true }, "x"), 422, "field_not_editable");
  });
});
