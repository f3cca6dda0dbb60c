import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { memory } from "../../../plugins/token-store/index.ts";
import {
  bearer,
  channelOf,
  pico,
  withChannel,
  type Channel,
} from "../../support/dashboard-channel.ts";
import { connectClient } from "../../support/pico-server-harness.ts";
import {
  DAY,
  TOKEN,
  block,
  rejection,
  signIn,
  startDashboard,
  tempHome,
  wrongToken,
} from "../../support/dashboard-server.ts";

describe("GET /api/status: channel", () => {
  test("returns switch, URL, counters and settings etag", () =>
    withChannel(async (server) => {
      expect(await channelOf(server)).toEqual({
        enabled: false,
        url: `ws://${server.base.host}/pico`,
        connections: 0,
        maxConnections: 100,
        messagesIn: 0,
        messagesOut: 0,
        perMinute: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        refusals: [],
        etag: expect.stringMatching(/^[0-9a-f]+$/),
      });
    }));

  test("names the environment variable of the switch instead of an etag", () =>
    withChannel(
      async (server) => {
        const channel = await channelOf(server);
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

  test("follows host, scheme and base path of a proxy", () =>
    withChannel(
      async (server) => {
        const headers = {
          ...bearer,
          "x-forwarded-proto": "https",
          "x-forwarded-host": "door.example.org",
        };
        const { channel } = (await (await server.get("/door/api/status", headers)).json()) as {
          channel: Channel;
        };
        expect(channel.url).toBe("wss://door.example.org/door/pico");
      },
      {
        basePath: "/door",
        launcher: { trusted_proxies: ["127.0.0.1"], allowed_hosts: ["door.example.org"] },
      },
    ));

  test("warns about a token in config.json", () =>
    withChannel(
      async (server) => {
        const { warnings } = (await (await server.get("/api/status", bearer)).json()) as {
          warnings: { id: string }[];
        };
        expect(warnings.map(({ id }) => id)).toEqual(["token-in-config"]);
      },
      { config: '{"channels":{"pico":{"token":"0123456789abcdef0123"}}}' },
    ));
});

test("/pico during setup: serves clients that have the channel token", async () => {
  await using folder = await tempHome();
  await writeFile(join(folder.home, "config.json"), '{"channels":{"pico":{"enabled":true}}}');
  const token = "0123456789abcdef0123";
  await using server = await startDashboard({
    before: pico(),
    home: folder.home,
    env: { SERVICE_CHANNELS_PICO_TOKEN: token },
  });
  expect(server.kernel.state()).toBe("setup");
  expect((await server.get("/pico", { authorization: `Bearer ${token}` })).status).toBe(200);
  await rejection(await server.get("/api/status"), 403, "setup_required");
});

describe("channel connection of a page", () => {
  test("closes with 1008 whenever its sign-in ends", () =>
    withChannel(
      async (server) => {
        const { tokenSecrets } = server.kernel.services;
        const endings: Readonly<Record<string, (session: { cookie: string }) => unknown>> = {
          "sign-out": (session) =>
            server.post("/logout", {}, { ...session, origin: server.origin }),
          revoked: () => server.request("/api/sessions", { method: "DELETE", headers: bearer }),
          evicted: async () => {
            for (let n = 0; n < 25; n += 1) await signIn(server);
          },
          replaced: (session) => server.post("/login", { token: TOKEN }, session),
          expired: () => server.clock.increment(7 * DAY),
          rotated: () =>
            tokenSecrets.replace("launcher", { value: "another-token-of-mine", expect: 1 }),
        };
        for (const [reason, end] of Object.entries(endings)) {
          const session = await signIn(server);
          const page = await connectClient(server.port, "/pico", {
            token: null,
            headers: { ...session, origin: server.origin },
          });
          await end(session);
          expect([reason, await page.closed]).toEqual([
            reason,
            { code: 1008, reason: "session_ended" },
          ]);
          expect(server.facts.some(({ fact }) => fact["reason"] === reason)).toBe(true);
        }
      },
      {
        form: memory({ launcher: TOKEN, pico: "0123456789abcdef0123" }),
        env: { SERVICE_CHANNELS_PICO_ENABLED: "true" },
      },
    ));

  test("has its own limit of wrong tokens", () =>
    withChannel(
      async (server) => {
        const right = { authorization: "Bearer 0123456789abcdef0123" };
        await block(server);
        expect((await server.get("/pico", right)).status).toBe(200);
        for (let n = 0; n < 10; n += 1)
          await server.get("/pico", { authorization: `Bearer ${wrongToken(n)}` }, "127.0.0.2");
        await rejection(await server.get("/pico", right, "127.0.0.2"), 429, "rate_limited");
        await rejection(
          await server.post("/login", { token: wrongToken(1) }, {}, "127.0.0.2"),
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
