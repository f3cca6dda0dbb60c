import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { AnyPlugin, Plugin } from "../../../../../kernel/index.ts";
import { dashboardSchema } from "../../../../../plugins/dashboard/server/config.ts";
import { gatewaySchema, launcherSchema } from "../../../../../plugins/http/config.ts";
import { picoClientSchema } from "../../../../../plugins/pico-client/config.ts";
import { picoSchema } from "../../../../../plugins/pico-server/config.ts";
import type { Tokens } from "../../../../../plugins/token-store/index.ts";
import { PICO, TOKEN, withApi, type ApiClient } from "../../../../support/api-client.ts";

const section = async ({ ask }: ApiClient, name: string) =>
  (await ask("GET", "/api/settings")).body.sections.find(
    (each: { section: string }) => each.section === name,
  );
async function put(office: ApiClient, path: string, name: string, body: object, etag?: string) {
  const own = etag ?? (await section(office, name)).etag;
  return office.ask("PUT", path, body, { ...office.session, "if-match": own });
}

describe("GET /api/settings", () => {
  test("returns schema, value, etag and editable fields, but no token", () =>
    withApi(
      async (office) => {
        const { body } = await office.ask("GET", "/api/settings");
        expect(body.sections.map((each: { section: string }) => each.section).sort()).toEqual([
          "channels.pico",
          "launcher",
        ]);
        const pico = await section(office, "channels.pico");
        expect(pico).toMatchObject({
          value: { enabled: true, max_connections: 7 },
          etag: expect.any(String),
        });
        expect(pico.editable).toContain("allow_origins");
        expect(pico.editable).not.toContain("max_connections");
        expect(pico.managedByEnv).toEqual({
          max_connections: "SERVICE_CHANNELS_PICO_MAX_CONNECTIONS",
        });
        expect(pico.schema.properties.ping_interval).toMatchObject({ default: 30, editable: true });
        const launcher = await section(office, "launcher");
        expect(launcher.editable.sort()).toEqual([
          "allowed_hosts",
          "allowed_origins",
          "keep_sign_ins",
          "login_attempts_per_minute",
          "session_days",
        ]);
        expect(JSON.stringify(body)).not.toContain(PICO);
        expect(JSON.stringify(body)).not.toContain(TOKEN);
      },
      { env: { SERVICE_CHANNELS_PICO_MAX_CONNECTIONS: "7" } },
    ));
});

test("limits editable settings: no token, path or program", () => {
  const editable = (...schemas: readonly z.ZodType[]): string[] =>
    schemas
      .flatMap((schema) => {
        const { properties = {} } = z.toJSONSchema(schema, { io: "input" }) as {
          properties?: Record<string, { editable?: true }>;
        };
        return Object.keys(properties).filter((key) => properties[key]?.editable === true);
      })
      .sort();
  expect(editable(launcherSchema, dashboardSchema)).toEqual([
    "allowed_hosts",
    "allowed_origins",
    "keep_sign_ins",
    "login_attempts_per_minute",
    "session_days",
  ]);
  expect(editable(picoClientSchema)).toEqual(["enabled", "url"]);
  expect(editable(picoSchema)).not.toContain("token");
  expect(editable(gatewaySchema)).toEqual([]);
});

describe("PUT /api/launcher", () => {
  test("changes editable fields and keeps the formatting of the file", () =>
    withApi(async (office) => {
      expect(await put(office, "/api/launcher", "launcher", { session_days: 3 })).toMatchObject({
        status: 200,
        body: { now: ["session_days"], afterRestart: [], etag: expect.any(String) },
      });
      expect(
        JSON.parse(await readFile(join(office.home, "launcher-config.json"), "utf8")),
      ).toMatchObject({ launcher_token: TOKEN, session_days: 3 });
    }));

  test.each([
    { allowed_hosts: ["door.example.org"] },
    { allowed_origins: ["https://door.example.org"] },
    { keep_sign_ins: true },
  ])("requires the launcher token for %j", (patch) =>
    withApi(async (office) => {
      expect(await put(office, "/api/launcher", "launcher", patch)).toMatchObject({ status: 400 });
      expect(
        await put(office, "/api/launcher", "launcher", { ...patch, current: "wrong-one" }),
      ).toMatchObject({ status: 403, body: { error: "invalid_token" } });
      expect(
        await put(office, "/api/launcher", "launcher", { ...patch, current: TOKEN }),
      ).toMatchObject({ status: 200 });
    }),
  );

  test.each([
    "host",
    "public",
    "port",
    "trusted_proxies",
    "tls",
    "base_path",
    "launcher_token",
    "handler",
    "plugins",
    "tls.cert",
  ])("never changes %s", (field) =>
    withApi(async (office) => {
      const before = await readFile(join(office.home, "launcher-config.json"), "utf8");
      const asked = await put(office, "/api/launcher", "launcher", {
        [field]: "x",
        current: TOKEN,
      });
      expect(asked.status).toBe(422);
      expect(["field_not_editable", "invalid_setting"]).toContain(asked.body.error);
      expect(await readFile(join(office.home, "launcher-config.json"), "utf8")).toBe(before);
    }),
  );

  test("answers 412 to the second of two editors", () =>
    withApi(async (office) => {
      const { etag } = await section(office, "launcher");
      expect(
        await put(office, "/api/launcher", "launcher", { session_days: 3 }, etag),
      ).toMatchObject({ status: 200 });
      expect(
        await put(office, "/api/launcher", "launcher", { session_days: 4 }, etag),
      ).toMatchObject({ status: 412, body: { error: "etag_mismatch" } });
      expect(await office.ask("PUT", "/api/launcher", { session_days: 4 })).toMatchObject({
        status: 428,
      });
    }));
});

/** A plugin with the section and the token of a client for a remote channel. */
const client: Plugin<{ config: { enabled: boolean; url: string }; needs: { tokens: Tokens } }> = {
  name: "client",
  api: 1,
  needs: { tokens: true },
  config: {
    section: "channels.pico_client",
    schema: z.strictObject({
      enabled: z.boolean().default(false).meta({ editable: true }),
      url: z.string().default("").meta({ editable: true }),
    }),
  },
  async start({ needs, onConfig }) {
    await needs.tokens.claim("pico_client");
    onConfig(() => undefined);
  },
};

describe("PUT /api/channels/pico_client", () => {
  const remote = "the-token-of-the-remote-side";
  const options = {
    plugins: [client] as unknown as AnyPlugin[],
    config: {
      channels: { pico: {}, pico_client: { url: "wss://one.example/pico", token: remote } },
    },
  };
  const path = "/api/channels/pico_client";
  const name = "channels.pico_client";

  test("requires the remote token for another origin", () =>
    withApi(async (office) => {
      const url = "wss://two.example/pico";
      expect(await put(office, path, name, { url })).toMatchObject({
        status: 422,
        body: { error: "token_required" },
      });
      expect(
        await put(office, path, name, { url, token: "guessed-token-of-remote" }),
      ).toMatchObject({ status: 403, body: { error: "invalid_token" } });
      expect((await section(office, name)).value.url).toBe("wss://one.example/pico");
      expect(await put(office, path, name, { url, token: remote })).toMatchObject({ status: 200 });
      expect((await section(office, name)).value.url).toBe(url);
    }, options));

  test("requires no token for the same origin and other fields", () =>
    withApi(async (office) => {
      expect(
        await put(office, path, name, { url: "wss://one.example/other", enabled: true }),
      ).toMatchObject({ status: 200 });
    }, options));

  test("answers 404 if no client is loaded", () =>
    withApi(async (office) => {
      expect(
        await office.ask("PUT", path, { enabled: true }, { ...office.session, "if-match": "x" }),
      ).toMatchObject({ status: 404 });
    }));
});
