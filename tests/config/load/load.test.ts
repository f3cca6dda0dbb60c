import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { load, type Environment } from "../../../config/load/index.ts";
import { createKernel, type AnyPlugin } from "../../../kernel/index.ts";
import { rejection } from "../../support/sample-plugins.ts";
import { launcher, part, pico } from "../../support/sample-sections.ts";
import { withHome, type Home } from "../../support/token-store-harness.ts";

const client = z.strictObject({ enabled: z.boolean().default(false), url: z.string().default("") });

const list = [part("http", "launcher", launcher), part("pico-server", "channels.pico", pico)];

const both = [...list, part("pico-client", "channels.pico_client", client)];

const from = (home: Home, env: Environment = {}, plugins: readonly AnyPlugin[] = list) =>
  load(plugins, { home: home.path, env });

const secret = "correct-horse-battery-staple";

describe("load", () => {
  test("returns empty sections without files and variables", () =>
    withHome(async (home) => {
      expect(await from(home)).toMatchObject({
        config: { launcher: {}, "channels.pico": {} },
        handler: undefined,
        warnings: [],
      });
    }));

  test("reads the launcher from its own file, other sections from config.json", () =>
    withHome(async (home) => {
      await home.write("launcher-config.json", { port: 81 });
      await home.write("config.json", { handler: "echo", channels: { pico: { enabled: true } } });
      const { config, sources, handler } = await from(home);
      expect(config).toEqual({ launcher: { port: 81 }, "channels.pico": { enabled: true } });
      expect(sources.file("launcher")).toEqual({ path: home.at("launcher-config.json"), keys: [] });
      expect(sources.file("channels.pico")).toEqual({
        path: home.at("config.json"),
        keys: ["channels", "pico"],
      });
      expect(handler).toBe("echo");
    }));

  test.each([
    ["config.json", { Channels: {} }, "channels"],
    ["config.json", { сhаnnеls: {} }, "channels"],
    ["config.json", { channels: { "pico\u00a0": {} } }, "pico"],
    ["config.json", { channels: { pico: { Enabled: true } } }, "enabled"],
    ["config.json", { channels: { pico: { Token: secret } } }, "token"],
    ["config.json", { Handler: "echo" }, "handler"],
    ["launcher-config.json", { "p\u043ert": 81 }, "port"],
    ["launcher-config.json", { "launcher_token\u200b": secret }, "launcher_token"],
  ])("rejects keys of %s that look like a known one: %j", (file, content, known) =>
    withHome(async (home) => {
      await home.write(file, content);
      const error = await rejection(from(home));
      expect(error).toMatchObject({ code: "FILE_CORRUPT" });
      const place = `${home.at(file)}, line `;
      expect(error.message.slice(0, place.length)).toBe(place);
      expect(error.message).toContain(`expected the key "${known}"`);
      expect(error.message).not.toContain(secret);
    }),
  );

  test("reads the handler even if no section is in config.json", () =>
    withHome(async (home) => {
      await home.write("config.json", { handler: "echo" });
      expect((await from(home, {}, [list[0]!])).handler).toBe("echo");
    }));

  test("accepts a config.json outside the home", () =>
    withHome(async (home) => {
      await home.write("other.json", { channels: { pico: { enabled: true } } });
      const { config } = await load(list, {
        home: join(home.path, "nowhere"),
        env: {},
        config: home.at("other.json"),
      });
      expect(config["channels.pico"]).toEqual({ enabled: true });
    }));

  test("warns about a missing file that was named", () =>
    withHome(async (home) => {
      const config = home.at("ohter.json");
      const { warnings } = await load(list, { home: home.path, env: {}, config });
      expect(warnings).toEqual([
        `${config} does not exist, so every setting has its default. Check the file name.`,
      ]);
    }));

  test("rejects a corrupt file with line and column", () =>
    withHome(async (home) => {
      await home.write("config.json", '{\n  "channels": {\n}');
      await expect(from(home)).rejects.toThrow(/config\.json, line 3, column \d+: expected/);
    }));

  test.each([
    [{ channels: { pico: [] } }, "channels.pico"],
    [{ channels: { pico: "on" } }, "channels.pico"],
    [{ channels: 7 }, "channels"],
  ])("rejects a section that is not an object: %j", (content, path) =>
    withHome(async (home) => {
      await home.write("config.json", content);
      const error = await rejection(from(home));
      expect(error.code).toBe("CONFIG_NOT_AN_OBJECT");
      expect(error.message).toContain(`config.json: "${path}" must be an object`);
    }),
  );

  test("treats null as absent", () =>
    withHome(async (home) => {
      await home.write("config.json", { channels: null });
      expect((await from(home)).config["channels.pico"]).toEqual({});
    }));
});

describe("load with unknown keys", () => {
  test.each([
    [
      "config.json",
      { channels: { pico: { allow_origin: [] } } },
      '"channels.pico.allow_origin" is not a setting. Did you mean "allow_origins"?',
    ],
    [
      "config.json",
      { channels: { pico: { colour: 1 } } },
      '"channels.pico.colour" is not a setting. Known: enabled, allow_origins, max_connections, ratio.',
    ],
    [
      "config.json",
      { channels: { picco: {} } },
      '"channels.picco" is not a setting. Did you mean "pico"?',
    ],
    [
      "config.json",
      { chanels: { pico: {} } },
      '"chanels" is not a setting. Did you mean "channels"?',
    ],
    ["config.json", { handlr: "echo" }, '"handlr" is not a setting. Did you mean "handler"?'],
    ["launcher-config.json", { prot: 1 }, '"prot" is not a setting. Did you mean "port"?'],
  ])("rejects in %s: %j", (name, content, sentence) =>
    withHome(async (home) => {
      await home.write(name, content);
      const error = await rejection(from(home));
      expect(error.code).toBe("CONFIG_UNKNOWN_KEY");
      expect(error.message).toBe(`${home.at(name)}: ${sentence}`);
    }),
  );

  test("warns about keys that resemble no setting", () =>
    withHome(async (home) => {
      await home.write("config.json", {
        $schema: "x",
        mine: {},
        channels: { signal: { token: secret } },
        port: 1,
      });
      const { warnings } = await from(home);
      expect(warnings).toEqual([
        `${home.at("config.json")}: no plugin reads "mine"`,
        `${home.at("config.json")}: no plugin reads "channels.signal"`,
        `${home.at("config.json")}: no plugin reads "port"; it is a setting of launcher-config.json`,
      ]);
    }));

  test("ignores sections of plugins that are not loaded", () =>
    withHome(async (home) => {
      await home.write("config.json", {
        handler: "echo",
        gateway: { port: 1 },
        channels: { pico: { enabled: true }, pico_client: { url: "wss://x" } },
      });
      expect((await from(home)).warnings).toEqual([]);
      expect((await from(home, {}, [both[2]!])).config).toEqual({
        "channels.pico_client": { url: "wss://x" },
      });
    }));

  test("rejects an unknown nested key with its path", () =>
    withHome(async (home) => {
      await home.write("launcher-config.json", { tls: { cret: "/a" } });
      const error = await rejection(from(home));
      expect(error.code).toBe("CONFIG_NOT_VALID");
      expect(error.message).toContain('launcher-config.json: "tls"');
      expect(error.message).toContain("cret");
    }));
});

test("names the flag, variable or file of an invalid value", () =>
  withHome(async (home) => {
    const limits = [
      part("http", "launcher", z.strictObject({ port: z.int().max(9).default(1) })),
      list[1]!,
    ];
    await home.write("config.json", { channels: { pico: { max_connections: 0 } } });
    const messageOf = async (
      env: Environment,
      flags: Record<string, object> = {},
    ): Promise<string> =>
      (await rejection(load(limits, { home: home.path, env, flags } as never))).message;
    expect(await messageOf({ SERVICE_LAUNCHER_PORT: "10" }, { launcher: { port: 11 } })).toMatch(
      /^-port: "port" is not/,
    );
    expect(await messageOf({ SERVICE_LAUNCHER_PORT: "10" })).toMatch(
      /^SERVICE_LAUNCHER_PORT: "port" is not valid: too/,
    );
    expect(await messageOf({})).toMatch(
      /config\.json: "channels\.pico\.max_connections" is not valid: too small/,
    );
  }));

test("never passes tokens and reserved keys to plugins", () =>
  withHome(async (home) => {
    await home.write("launcher-config.json", {
      port: 81,
      launcher_token: secret,
      metrics_token: secret,
      setup_pending: "0123456789abcdef",
      instance: "a1b2c3",
      $schema: "x",
    });
    await home.write("config.json", {
      channels: {
        pico: { enabled: true, token: secret },
        pico_client: { url: "wss://x", token: secret },
      },
    });
    const env = {
      SERVICE_LAUNCHER_TOKEN: secret,
      SERVICE_CHANNELS_PICO_TOKEN: secret,
      SERVICE_CHANNELS_PICO_CLIENT_TOKEN: secret,
    };
    const { config, warnings, sources } = await from(home, env, both);
    expect(config).toEqual({
      launcher: { port: 81 },
      "channels.pico": { enabled: true },
      "channels.pico_client": { url: "wss://x" },
    });
    expect(warnings).toEqual([]);
    expect(sources.overlay("channels.pico", { token: secret, enabled: true })).toEqual({
      enabled: true,
    });
    const kernel = createKernel([], { plugins: both, config });
    await kernel.start();
    await kernel.stop();
  }));
