import { describe, expect, test } from "vitest";
import { runDoctor } from "../../../config/doctor/index.ts";
import {
  foreignInSecurity,
  foreignSecrets,
  foreignVariables,
} from "../../../config/foreign/index.ts";
import { sectionKeys, sharedFields, sharedVariables } from "../../../config/foreign/table.ts";
import { load } from "../../../config/load/index.ts";
import { variablesOf } from "../../../config/load/environment.ts";
import { sectionsOf } from "../../../config/load/sections.ts";
import { createLauncher } from "../../../config/presets/launcher.ts";
import type { AnyPlugin } from "../../../kernel/index.ts";
import { createCapturedLog } from "../../../kernel/testing.ts";
import { dashboard } from "../../../plugins/dashboard/index.ts";
import { gateway, http } from "../../../plugins/http/index.ts";
import { picoClient } from "../../../plugins/pico-client/index.ts";
import { picoServer } from "../../../plugins/pico-server/index.ts";
import { withHome, type Home } from "../../support/token-store-harness.ts";

const plugins: readonly AnyPlugin[] = [http(), gateway(), picoServer(), picoClient(), dashboard()];
const secret = "sk-never-printed-0123456789";

/** The first schema of PicoClaw, with a value at every kind of key. */
const olderConfig = {
  agents: { defaults: { workspace: "~/.picoclaw/workspace", max_tokens: 8192 } },
  bindings: [],
  session: { dm_scope: "per-peer" },
  channels: {
    telegram: { enabled: false, token: secret, allow_from: ["1"] },
    irc: { enabled: false, password: secret },
    pico: {
      enabled: false,
      token: `${secret}-pico`,
      allow_origins: ["https://app.example.org"],
      max_connections: 7,
      allow_from: [],
      placeholder: { enabled: true, text: "…" },
    },
    pico_client: { enabled: false, url: "", session_id: "s", ping_interval: 30, allow_from: [] },
  },
  providers: { openai: { api_key: secret } },
  model_list: [{ model_name: "m", api_keys: [secret] }],
  tools: { web: { brave: { api_key: secret } } },
  hooks: { enabled: false },
  heartbeat: { enabled: true, interval: 30 },
  devices: { enabled: false, monitor_usb: true },
  voice: { echo_transcription: false },
  gateway: { host: "127.0.0.1", port: 0, hot_reload: false, log_level: "warn", allowed_cidrs: [] },
};
/** The third schema: channels moved to `channel_list`. */
const newerConfig = {
  version: 3,
  isolation: { enabled: false },
  agents: {},
  channel_list: {
    telegram: { enabled: false, type: "telegram", settings: { token: secret } },
    pico: {
      enabled: true,
      type: "pico",
      allow_from: ["x"],
      settings: { token: secret, allow_origins: [], ping_interval: 30, streaming: {} },
    },
    far: { enabled: false, type: "pico_client", settings: { url: "ws://far/pico" } },
  },
  gateway: { host: "127.0.0.1", port: 0 },
  build_info: { version: "1" },
};
const launcherConfig = {
  port: 0,
  public: false,
  allowed_cidrs: ["10.0.0.0/8"],
  trusted_proxy_cidrs: [],
  allow_localhost_bypass: true,
  dashboard_password_hash: secret,
  external_apps: [],
};
const security = `channel_list:
  pico:
    settings:
      token: ${secret}
model_list:
  gpt:
    api_keys: [${secret}]
web:
  brave:
    api_keys: [${secret}]
`;

async function warningsOf(home: Home, config: object): Promise<readonly string[]> {
  await home.write("config.json", config);
  await home.write("launcher-config.json", launcherConfig);
  const { warnings, foreign } = await load(plugins, { home: home.path, env: {} });
  expect(warnings).toEqual(foreign);
  expect(JSON.stringify(warnings)).not.toContain(secret);
  return warnings.map((text) => text.slice(text.indexOf('"')));
}

describe("load", () => {
  test("ignores each setting of PicoClaw's older files with one sentence", () =>
    withHome(async (home) => {
      const warnings = await warningsOf(home, olderConfig);
      const keys = warnings.map((text) => text.split('"')[1]);
      expect(keys.toSorted()).toEqual(
        [
          ...["agents", "bindings", "session", "providers", "model_list", "tools", "hooks"],
          ...["heartbeat", "devices", "voice", "channels.telegram", "channels.irc"],
          ...["channels.pico.allow_from", "channels.pico.placeholder"],
          ...["session_id", "ping_interval", "allow_from"].map(
            (key) => `channels.pico_client.${key}`,
          ),
          ...["hot_reload", "log_level", "allowed_cidrs"].map((key) => `gateway.${key}`),
          ...["allowed_cidrs", "trusted_proxy_cidrs", "allow_localhost_bypass"],
          ...["dashboard_password_hash", "external_apps"],
        ].toSorted(),
      );
      const { config } = await load(plugins, { home: home.path, env: {} });
      expect(config).toEqual({
        launcher: { port: 0, public: false },
        gateway: { host: "127.0.0.1", port: 0 },
        "channels.pico": {
          enabled: false,
          allow_origins: ["https://app.example.org"],
          max_connections: 7,
        },
        "channels.pico_client": { enabled: false, url: "" },
      });
    }));

  test("names its own setting for each one of channel_list", () =>
    withHome(async (home) => {
      const warnings = await warningsOf(home, newerConfig);
      const of = (path: string): string | undefined =>
        warnings.find((text) => text.startsWith(`"${path}"`));
      expect(of("channel_list.pico.enabled")).toContain('Doorward reads "channels.pico.enabled".');
      expect(of("channel_list.pico.settings.allow_origins")).toContain(
        '"channels.pico.allow_origins"',
      );
      expect(of("channel_list.pico.settings.token")).toContain(
        '"channels.pico.token" in .security.yml',
      );
      expect(of("channel_list.pico.allow_from")).toContain("channel token");
      expect(of("channel_list.far.settings.url")).toContain('"channels.pico_client.url"');
      expect(of("channel_list.telegram")).toContain("a plugin can add one");
      expect(of("version")).toBeDefined();
    }));

  test.each([
    [{ channels: { pico: { allow_orgins: [] } } }, "allow_origins"],
    [{ channels: { pico: { enable: true } } }, "enabled"],
    [{ channels: { pcio: {} } }, "pico"],
    [{ chanels: {} }, "channels"],
    [{ gateway: { prot: 1 } }, "port"],
    [{ hanlder: "echo" }, "handler"],
  ])("still refuses the misspelling %j", (config, meant) =>
    withHome(async (home) => {
      await home.write("config.json", config);
      await expect(load(plugins, { home: home.path, env: {} })).rejects.toMatchObject({
        code: "CONFIG_UNKNOWN_KEY",
        message: expect.stringContaining(`Did you mean "${meant}"?`),
      });
    }),
  );
});

describe("launcher", () => {
  test("starts with the files and variables of PicoClaw, and explains each", () =>
    withHome(async (home) => {
      await home.write("config.json", { ...olderConfig, channel_list: newerConfig.channel_list });
      await home.write("launcher-config.json", launcherConfig);
      await home.write(".security.yml", security);
      const { log, lines } = createCapturedLog();
      const env = { PICOCLAW_LAUNCHER_TOKEN: secret };
      const kernel = await createLauncher({ home: home.path, env, version: "0.0.0", log });
      await kernel.start();
      await kernel.stop();
      const texts = lines.map(({ text }) => text).filter((text) => text.includes("PicoClaw"));
      expect(new Set(texts).size).toBe(texts.length);
      for (const part of ["SERVICE_LAUNCHER_TOKEN", '"model_list"', ".security.yml: "])
        expect(texts.join("\n")).toContain(part);
      expect(JSON.stringify(lines)).not.toContain(secret);
    }));
});

describe("foreignVariables", () => {
  test("names the variable of Doorward where there is one", () => {
    const found = foreignVariables({
      PICOCLAW_HOME: "/x",
      PICOCLAW_LAUNCHER_TOKEN: secret,
      PICOCLAW_CHANNELS_PICO_TOKEN: secret,
      PICOCLAW_CONFIG: "/c.json",
      PICOCLAW_TOOLS_WEB_BRAVE_API_KEYS: secret,
      PICOCLAW_EMPTY: " ",
      SERVICE_HOME: "/y",
    });
    expect(found.map((text) => /reads (SERVICE_\w+)\./.exec(text)?.[1])).toEqual([
      "SERVICE_HOME",
      "SERVICE_LAUNCHER_TOKEN",
      "SERVICE_CHANNELS_PICO_TOKEN",
      undefined,
      undefined,
    ]);
    expect(found.join()).not.toContain(secret);
  });
});

describe("foreignInSecurity", () => {
  test("names where the token of the channel belongs", () => {
    const found = foreignInSecurity("f", { channels: { pico: { settings: { token: secret } } } });
    expect(found).toEqual([
      'f: "channels.pico.settings.token" is a setting of PicoClaw and is ignored. ' +
        'Doorward reads "channels.pico.token" in .security.yml.',
    ]);
  });

  test("says nothing about files of Doorward, and nothing about unreadable ones", () =>
    withHome(async (home) => {
      await home.write(".security.yml", `channels:\n  pico:\n    token: ${secret}\n`);
      expect(await foreignSecrets(home.path)).toEqual([]);
      await home.write(".security.yml", "{");
      expect(await foreignSecrets(home.path)).toEqual([]);
    }));
});

describe("examine", () => {
  test("lists the settings of PicoClaw in all files and variables", () =>
    withHome(async (home) => {
      await home.write("config.json", newerConfig);
      await home.write("launcher-config.json", launcherConfig);
      await home.write(".security.yml", security);
      const env = { PICOCLAW_HOME: "/x" };
      const checks = await runDoctor({ home: home.path, env, now: 0 });
      const { result, reason } = checks.find(({ id }) => id === "foreign-settings")!;
      expect(result).toBe("warning");
      for (const part of [
        "PICOCLAW_HOME",
        "channel_list.pico.enabled",
        "allowed_cidrs",
        "channel_list.pico.settings.token",
        '"web"',
      ])
        expect(reason).toContain(part);
      expect(JSON.stringify(checks)).not.toContain(secret);
    }));
});

describe("table", () => {
  const sections = sectionsOf(plugins);
  const keysOf = (name: string): string[] =>
    Object.keys(sections.find(({ section }) => section === name)?.properties ?? {});

  test("shares fields and variables that Doorward reads", () => {
    for (const [channel, fields] of Object.entries(sharedFields))
      expect(keysOf(`channels.${channel}`)).toEqual(expect.arrayContaining([...fields]));
    const known = [...variablesOf(sections, "service").keys(), "SERVICE_HOME"];
    const settings = sharedVariables.filter((name) => !name.endsWith("_TOKEN"));
    expect(known).toEqual(expect.arrayContaining(settings.map((name) => `SERVICE_${name}`)));
  });

  test("holds no key of Doorward", () => {
    for (const [section, keys] of Object.entries(sectionKeys))
      expect(keysOf(section).filter((key) => Object.hasOwn(keys, key))).toEqual([]);
  });
});
