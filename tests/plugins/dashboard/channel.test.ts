import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { AnyPlugin } from "../../../kernel/index.ts";
import { channels } from "../../../plugins/channels/index.ts";
import { picoServer } from "../../../plugins/pico-server/index.ts";
import { memory } from "../../../plugins/token-store/index.ts";
import { client } from "../../support/pico-server-harness.ts";
import {
  DAY,
  TOKEN,
  block,
  refusal,
  signedIn,
  startDashboard,
  tempHome,
  wrong,
  type DashboardStand,
  type Lines,
  type StandOptions,
} from "../../support/dashboard-server.ts";

const pico = (): AnyPlugin[] => [channels(), picoServer()] as unknown as AnyPlugin[];
const bearer = { authorization: `Bearer ${TOKEN}` };

/** A launcher in a home of its own, with a channel. */
async function withChannel(
  visit: (stand: DashboardStand, home: string) => Promise<void>,
  { config, ...options }: StandOptions & { config?: string } = {},
): Promise<void> {
  await using folder = await tempHome();
  if (config !== undefined) await writeFile(join(folder.home, "config.json"), config);
  const env = { SERVICE_LAUNCHER_TOKEN: TOKEN, ...options.env };
  await using stand = await startDashboard({ before: pico(), ...options, home: folder.home, env });
  await visit(stand, folder.home);
}
interface Channel {
  readonly enabled: boolean;
  readonly etag?: string;
  readonly enabledManagedBy?: string;
  readonly url: string;
}
const channelOf = async (stand: DashboardStand): Promise<Channel> =>
  ((await (await stand.get("/api/status", bearer)).json()) as { channel: Channel }).channel;
const put = (
  stand: DashboardStand,
  body: unknown,
  etag?: string,
  headers: Lines = bearer,
): Promise<Response> =>
  stand.request("/api/channels/pico", {
    method: "PUT",
    body: JSON.stringify(body),
    headers: {
      "content-type": "application/json",
      ...headers,
      ...(etag === undefined ? {} : { "if-match": etag }),
    },
  });
const change = async (stand: DashboardStand, body: unknown): Promise<Response> =>
  put(stand, body, (await channelOf(stand)).etag);
const text = async (home: string, file: string): Promise<string> =>
  readFile(join(home, file), "utf8").catch(() => "");

describe("the channel in GET /api/status", () => {
  test("has its switch, its address as the browser sees it, its counters and the etag of its settings", () =>
    withChannel(async (stand) => {
      expect(await channelOf(stand)).toEqual({
        enabled: false,
        url: `ws://${stand.base.host}/pico`,
        connections: 0,
        maxConnections: 100,
        messagesIn: 0,
        messagesOut: 0,
        perMinute: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        refusals: [],
        etag: expect.stringMatching(/^[0-9a-f]+$/),
      });
    }));

  test("says which variable of the environment holds the switch, and then has no etag", () =>
    withChannel(
      async (stand) => {
        const channel = await channelOf(stand);
        expect(channel).toMatchObject({
          enabled: true,
          enabledManagedBy: "SERVICE_CHANNELS_PICO_ENABLED",
        });
        expect(channel.etag).toBeUndefined();
      },
      {
        env: {
          SERVICE_CHANNELS_PICO_ENABLED: "true",
          SERVICE_CHANNELS_PICO_TOKEN: "0123456789abcdef0123",
        },
      },
    ));

  test("follows a proxy's name and scheme, and the base path", () =>
    withChannel(
      async (stand) => {
        const headers = {
          ...bearer,
          "x-forwarded-proto": "https",
          "x-forwarded-host": "door.example.org",
        };
        const { channel } = (await (await stand.get("/door/api/status", headers)).json()) as {
          channel: Channel;
        };
        expect(channel.url).toBe("wss://door.example.org/door/pico");
      },
      {
        basePath: "/door",
        launcher: { trusted_proxies: ["127.0.0.1"], allowed_hosts: ["door.example.org"] },
      },
    ));

  test("a token in config.json is warned about", () =>
    withChannel(
      async (stand) => {
        const { warnings } = (await (await stand.get("/api/status", bearer)).json()) as {
          warnings: { id: string }[];
        };
        expect(warnings.map(({ id }) => id)).toEqual(["token-in-config"]);
      },
      { config: '{"channels":{"pico":{"token":"0123456789abcdef0123"}}}' },
    ));
});

test("while the dashboard waits for its first owner the channel serves whoever has its token", async () => {
  await using folder = await tempHome();
  await writeFile(join(folder.home, "config.json"), '{"channels":{"pico":{"enabled":true}}}');
  const token = "0123456789abcdef0123";
  await using stand = await startDashboard({
    before: pico(),
    home: folder.home,
    env: { SERVICE_CHANNELS_PICO_TOKEN: token },
  });
  expect(stand.kernel.state()).toBe("setup");
  expect((await stand.get("/pico", { authorization: `Bearer ${token}` })).status).toBe(200);
  await refusal(await stand.get("/api/status"), 403, "setup_required");
});

describe("PUT /api/channels/pico", () => {
  test("enabled: true without a token makes one in .security.yml and takes effect at once", () =>
    withChannel(async (stand, home) => {
      expect((await stand.get("/pico")).status).toBe(404);
      const answer = await change(stand, { enabled: true });
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
      expect(JSON.stringify(body) + stand.logged()).not.toContain(token);
      expect(await channelOf(stand)).toMatchObject({ enabled: true, etag: body["etag"] });
      expect((await stand.get("/pico", { authorization: `Bearer ${token}` })).status).toBe(200);
    }));

  test("keeps a token that is there, comments and other keys of the file", () =>
    withChannel(
      async (stand, home) => {
        expect((await change(stand, { enabled: true, max_connections: 5 })).status).toBe(200);
        expect(await text(home, ".security.yml")).toBe("");
        const after = JSON.parse(await text(home, "config.json")) as unknown;
        expect(after).toEqual({
          channels: { pico: { enabled: true, max_connections: 5 } },
          other: 1,
        });
        expect((await change(stand, { enabled: false })).status).toBe(200);
        expect(await channelOf(stand)).toMatchObject({ enabled: false, maxConnections: 5 });
      },
      {
        config: '{"channels":{"pico":{}},"other":1}',
        env: { SERVICE_CHANNELS_PICO_TOKEN: "0123456789abcdef0123" },
      },
    ));

  test("a session may do it too, from this origin", () =>
    withChannel(async (stand) => {
      const session = await signedIn(stand);
      const { etag = "" } = await channelOf(stand);
      await refusal(
        await put(stand, { enabled: true }, etag, { ...session, origin: "https://evil.example" }),
        403,
        "origin_not_allowed",
      );
      expect(
        (await put(stand, { enabled: true }, `"${etag}"`, { ...session, origin: stand.origin }))
          .status,
      ).toBe(200);
      await refusal(await put(stand, { enabled: true }, etag, {}), 401, "unauthorized");
    }));

  test("without If-Match is 428, with an old one 412; the file stays as it was", () =>
    withChannel(async (stand, home) => {
      await refusal(await put(stand, { enabled: true }), 428, "etag_required");
      for (const etag of ["x", "*", '""', 'W/"0"']) {
        await refusal(await put(stand, { enabled: true }, etag), 412, "etag_mismatch");
      }
      const { etag = "" } = await channelOf(stand);
      expect((await put(stand, { max_connections: 7 }, etag)).status).toBe(200);
      await refusal(await put(stand, { max_connections: 8 }, etag), 412, "etag_mismatch");
      expect(JSON.parse(await text(home, "config.json"))).toEqual({
        channels: { pico: { max_connections: 7 } },
      });
      expect(await text(home, ".security.yml")).toBe("");
    }));

  test("a file that was edited by hand since is 412", () =>
    withChannel(async (stand, home) => {
      const { etag } = await channelOf(stand);
      await writeFile(join(home, "config.json"), '{"channels":{"pico":{"ping_interval":20}}}');
      await refusal(await put(stand, { enabled: true }, etag), 412, "etag_mismatch");
      expect(await text(home, "config.json")).toBe('{"channels":{"pico":{"ping_interval":20}}}');
    }));

  test("of two at once with one etag exactly one is written", () =>
    withChannel(async (stand, home) => {
      const { etag } = await channelOf(stand);
      const answers = await Promise.all(
        [5, 6].map((max_connections) => put(stand, { max_connections }, etag)),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
      const winner = answers.findIndex(({ status }) => status === 200);
      expect(JSON.parse(await text(home, "config.json"))).toEqual({
        channels: { pico: { max_connections: [5, 6][winner] } },
      });
    }));

  test("a value that the schema refuses is 422 naming the field, and nothing changes, no token is made", () =>
    withChannel(async (stand, home) => {
      for (const patch of [
        { max_connections: 0 },
        { enabled: "yes" },
        { enabled: true, max_payload: 1 },
        { ping_intervall: 5 },
      ]) {
        const { message } = await refusal(await change(stand, patch), 422, "invalid_setting");
        expect(message).toContain(`channels.pico.${Object.keys(patch).at(-1)!}`);
      }
      expect((await text(home, "config.json")) + (await text(home, ".security.yml"))).toBe("");
      expect(await channelOf(stand)).toMatchObject({ enabled: false });
    }));

  test("tokens, nested and dotted spellings and foreign fields are not editable", () =>
    withChannel(async (stand, home) => {
      for (const patch of [
        { token: "0123456789abcdef0123" },
        { "channels.pico.token": "x" },
        { pico: { token: "x" } },
        { handler: "x" },
        { "": 1 },
      ]) {
        await refusal(await change(stand, patch), 422, "field_not_editable");
      }
      const raw = (body: string, etag: string): Promise<Response> =>
        stand.request("/api/channels/pico", {
          method: "PUT",
          headers: { ...bearer, "content-type": "application/json", "if-match": etag },
          body,
        });
      await refusal(
        await raw('{"__proto__":{"enabled":true}}', (await channelOf(stand)).etag!),
        400,
        "invalid_body",
      );
      expect(await text(home, "config.json")).toBe("");
    }));

  test("a field held by the environment is 422 and names the variable", () =>
    withChannel(
      async (stand) => {
        const { etag } = (
          (await (await stand.get("/api/status", bearer)).json()) as { channel: Channel }
        ).channel;
        const { message } = await refusal(
          await put(stand, { max_connections: 5 }, etag),
          422,
          "invalid_setting",
        );
        expect(message).toContain("SERVICE_CHANNELS_PICO_MAX_CONNECTIONS");
      },
      { env: { SERVICE_CHANNELS_PICO_MAX_CONNECTIONS: "9" } },
    ));

  test("a body that is no object of fields is 400", () =>
    withChannel(async (stand) => {
      for (const body of [[], null, 5, "x"])
        await refusal(await put(stand, body, "x"), 400, "invalid_body");
      await refusal(
        await stand.request("/api/channels/pico", { method: "PUT", headers: bearer }),
        400,
        "invalid_body",
      );
    }));

  test("allow_origins and allow_token_query need the launcher token typed again", () =>
    withChannel(async (stand, home) => {
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
          await refusal(await change(stand, { ...patch, ...current }), 400, "invalid_body");
        }
        await refusal(await change(stand, { ...patch, current: wrong(1) }), 403, "invalid_token");
      }
      expect((await text(home, "config.json")) + (await text(home, ".security.yml"))).toBe("");
      expect(
        (await change(stand, { allow_origins: ["https://a.example"], current: TOKEN })).status,
      ).toBe(200);
      expect(JSON.parse(await text(home, "config.json"))).toEqual({
        channels: { pico: { allow_origins: ["https://a.example"] } },
      });
      expect(stand.lines.filter(({ via }) => via === "current")).toMatchObject([
        { reason: "invalid_token", count: 1 },
      ]);
      expect(stand.logged()).not.toContain(wrong(1));
    }));

  test("where the file cannot be written is 503 and the channel stays as it was", () =>
    withChannel(async (stand, home) => {
      const { etag } = await channelOf(stand);
      await rm(home, { recursive: true });
      await writeFile(home, "in the way");
      try {
        await refusal(await put(stand, { max_connections: 7 }, etag), 503, "store_unavailable");
      } finally {
        await rm(home);
        await mkdir(home);
      }
      expect(await channelOf(stand)).toMatchObject({ maxConnections: 100 });
    }));

  test("without a channel is 404, where settings cannot be written 422", async () => {
    await using none = await startDashboard();
    await refusal(await put(none, { enabled: true }, "x"), 404, "not_found");
    await using memoryOnly = await startDashboard({ before: pico() });
    await refusal(await put(memoryOnly, { enabled: true }, "x"), 422, "field_not_editable");
  });
});

describe("the dashboard's own page on the channel", () => {
  test("is closed with 1008 when its sign-in ends, however it ends", () =>
    withChannel(
      async (stand) => {
        const { tokenSecrets } = stand.kernel.services;
        const endings: Readonly<Record<string, (session: { cookie: string }) => unknown>> = {
          "sign-out": (session) => stand.post("/logout", {}, { ...session, origin: stand.origin }),
          revoked: () => stand.request("/api/sessions", { method: "DELETE", headers: bearer }),
          evicted: async () => {
            for (let n = 0; n < 25; n += 1) await signedIn(stand);
          },
          replaced: (session) => stand.post("/login", { token: TOKEN }, session),
          expired: () => stand.clock.increment(7 * DAY),
          rotated: () =>
            tokenSecrets.replace("launcher", { value: "another-token-of-mine", expect: 1 }),
        };
        for (const [reason, end] of Object.entries(endings)) {
          const session = await signedIn(stand);
          const page = await client(stand.port, "/pico", {
            token: null,
            headers: { ...session, origin: stand.origin },
          });
          await end(session);
          expect([reason, await page.closed]).toEqual([
            reason,
            { code: 1008, reason: "session_ended" },
          ]);
          expect(stand.facts.some(({ fact }) => fact["reason"] === reason)).toBe(true);
        }
      },
      {
        form: memory({ launcher: TOKEN, pico: "0123456789abcdef0123" }),
        env: { SERVICE_CHANNELS_PICO_ENABLED: "true" },
      },
    ));

  test("wrong tokens at the one door cost nothing at the other", () =>
    withChannel(
      async (stand) => {
        const right = { authorization: "Bearer 0123456789abcdef0123" };
        await block(stand);
        expect((await stand.get("/pico", right)).status).toBe(200);
        for (let n = 0; n < 10; n += 1)
          await stand.get("/pico", { authorization: `Bearer ${wrong(n)}` }, "127.0.0.2");
        await refusal(await stand.get("/pico", right, "127.0.0.2"), 429, "rate_limited");
        await refusal(
          await stand.post("/login", { token: wrong(1) }, {}, "127.0.0.2"),
          401,
          "invalid_token",
        );
      },
      {
        env: {
          SERVICE_CHANNELS_PICO_ENABLED: "true",
          SERVICE_CHANNELS_PICO_TOKEN: "0123456789abcdef0123",
        },
      },
    ));
});
