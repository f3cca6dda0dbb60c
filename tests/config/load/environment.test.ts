import { describe, expect, test } from "vitest";
import { z } from "zod";
import { load, type Environment } from "../../../config/load/index.ts";
import { type AnyPlugin } from "../../../kernel/index.ts";
import { rejection } from "../../support/sample-plugins.ts";
import { launcher, part, pico } from "../../support/sample-sections.ts";
import { withHome, type Home } from "../../support/token-store-harness.ts";

const list = [part("http", "launcher", launcher), part("pico-server", "channels.pico", pico)];

const from = (home: Home, env: Environment = {}, plugins: readonly AnyPlugin[] = list) =>
  load(plugins, { home: home.path, env });

const secret = "correct-horse-battery-staple";

describe("load with an environment", () => {
  test.each([
    ["SERVICE_LAUNCHER_PORT", "8080", { launcher: { port: 8080 } }],
    ["SERVICE_LAUNCHER_PORT", "-1", { launcher: { port: -1 } }],
    ["SERVICE_LAUNCHER_HOST", " ::1 ", { launcher: { host: "::1" } }],
    ["SERVICE_LAUNCHER_TLS_CERT", "/cert.pem", { launcher: { tls: { cert: "/cert.pem" } } }],
    ["SERVICE_LAUNCHER_TLS_REQUIRED", "1", { launcher: { tls: { required: true } } }],
    ["SERVICE_CHANNELS_PICO_ENABLED", "true", { "channels.pico": { enabled: true } }],
    ["SERVICE_CHANNELS_PICO_ENABLED", "1", { "channels.pico": { enabled: true } }],
    ["SERVICE_CHANNELS_PICO_ENABLED", "false", { "channels.pico": { enabled: false } }],
    ["SERVICE_CHANNELS_PICO_ENABLED", "0", { "channels.pico": { enabled: false } }],
    ["SERVICE_CHANNELS_PICO_MAX_CONNECTIONS", "500", { "channels.pico": { max_connections: 500 } }],
    ["SERVICE_CHANNELS_PICO_RATIO", "0.25", { "channels.pico": { ratio: 0.25 } }],
    [
      "SERVICE_CHANNELS_PICO_ALLOW_ORIGINS",
      "https://a.example, https://b.example ,",
      { "channels.pico": { allow_origins: ["https://a.example", "https://b.example"] } },
    ],
  ])("parses %s=%s by its type", (name, text, expected) =>
    withHome(async (home) => {
      expect((await from(home, { [name]: text })).config).toMatchObject(expected);
    }),
  );

  test.each([
    ["SERVICE_CHANNELS_PICO_ENABLED", "yes", "true, false, 1 or 0"],
    ["SERVICE_CHANNELS_PICO_ENABLED", "TRUE", "true, false, 1 or 0"],
    ["SERVICE_CHANNELS_PICO_MAX_CONNECTIONS", "many", "a whole number"],
    ["SERVICE_CHANNELS_PICO_MAX_CONNECTIONS", "1.5", "a whole number"],
    ["SERVICE_CHANNELS_PICO_MAX_CONNECTIONS", "0x10", "a whole number"],
    ["SERVICE_CHANNELS_PICO_RATIO", "1,5", "a number"],
  ])("rejects %s=%s and names the variable and expected type", (name, text, expected) =>
    withHome(async (home) => {
      const error = await rejection(from(home, { [name]: text }));
      expect(error.code).toBe("ENV_BAD_VALUE");
      expect(error.message).toContain(`${name} must be ${expected}`);
    }),
  );

  test.each(["", "  ", "\t", undefined])("treats a blank variable as unset: %j", (text) =>
    withHome(async (home) => {
      await home.write("config.json", { channels: { pico: { enabled: true } } });
      const { config, sources } = await from(home, { SERVICE_CHANNELS_PICO_ENABLED: text });
      expect(config["channels.pico"]).toEqual({ enabled: true });
      expect(sources.managed("channels.pico").size).toBe(0);
    }),
  );

  test("overrides single fields of the file, including nested ones", () =>
    withHome(async (home) => {
      await home.write("launcher-config.json", {
        port: 81,
        host: "::",
        tls: { cert: "/file.pem", key: "/file.key" },
      });
      const { config, sources } = await from(home, {
        SERVICE_LAUNCHER_PORT: "82",
        SERVICE_LAUNCHER_TLS_CERT: "/env.pem",
      });
      expect(config["launcher"]).toEqual({
        port: 82,
        host: "::",
        tls: { cert: "/env.pem", key: "/file.key" },
      });
      expect([...sources.managed("launcher")]).toEqual([
        ["port", "SERVICE_LAUNCHER_PORT"],
        ["tls", "SERVICE_LAUNCHER_TLS_CERT"],
      ]);
      expect(sources.overlay("launcher", { port: 90, launcher_token: secret })).toEqual({
        port: 82,
        tls: { cert: "/env.pem" },
      });
    }));

  test("lets command line flags override it", () =>
    withHome(async (home) => {
      await home.write("launcher-config.json", { port: 81, host: "::" });
      const env = { SERVICE_LAUNCHER_PORT: "82", SERVICE_LAUNCHER_TLS_CERT: "/env.pem" };
      const { config, sources } = await load(list, {
        home: home.path,
        env,
        flags: { launcher: { port: 83 } },
      });
      expect(config["launcher"]).toEqual({ port: 83, host: "::", tls: { cert: "/env.pem" } });
      expect(sources.overlay("launcher", { port: 84 })).toMatchObject({ port: 83 });
    }));

  test("uses the brand as prefix", () =>
    withHome(async (home) => {
      const env = { ACME_LAUNCHER_PORT: "82", SERVICE_LAUNCHER_PORT: "83" };
      expect(
        (await load(list, { home: home.path, env, brand: "acme" })).config["launcher"],
      ).toEqual({ port: 82 });
    }));

  test("rejects two settings with the same variable", () =>
    withHome(async (home) => {
      const clash = part(
        "clash",
        "channels",
        z.strictObject({ pico_enabled: z.boolean().default(false) }),
      );
      const error = await rejection(from(home, {}, [...list, clash]));
      expect(error.code).toBe("ENV_AMBIGUOUS");
      expect(error.message).toContain(
        'SERVICE_CHANNELS_PICO_ENABLED means both "channels.pico.enabled" and "channels.pico_enabled"',
      );
    }));

  test.each([
    ["SERVICE_LAUNCHER_TOKEN", `"${secret}"`, "quotation marks"],
    ["SERVICE_CHANNELS_PICO_TOKEN", ` '${secret}' `, "quotation marks"],
    ["SERVICE_STORE_SECRET", `"${secret}"`, "quotation marks"],
    ["SERVICE_LAUNCHER_HOST", '"::1"', "quotation marks"],
    ["SERVICE_HOME", "''", "quotation marks"],
    ["SERVICE_CHANNELS_PICO_TOKEN", `${secret} # of the channel`, '" #"'],
  ])("names the marks of an env file in %s without the value", (name, value, mark) =>
    withHome(async (home) => {
      const { warnings } = await from(home, { SERVICE_LAUNCHER_PORT: "82", [name]: value });
      expect(warnings).toEqual([expect.stringContaining(name)]);
      expect(warnings[0]).toContain(mark);
      expect(warnings[0]).not.toContain(value.slice(1, 5));
    }),
  );

  test.each([secret, '"', `"${secret}`, `"${secret}'`, `it's`, "#1", ""])(
    "names no marks in %j",
    (value) =>
      withHome(async (home) => {
        expect((await from(home, { SERVICE_LAUNCHER_TOKEN: value })).warnings).toEqual([]);
      }),
  );

  test("names tokens first and the quotation marks of a number", () =>
    withHome(async (home) => {
      const env = { SERVICE_LAUNCHER_HOST: "'a'", SERVICE_LAUNCHER_TOKEN: "'b'" };
      expect((await from(home, env)).warnings.map((text) => /SERVICE_\w+/.exec(text)?.[0])).toEqual(
        ["SERVICE_LAUNCHER_TOKEN", "SERVICE_LAUNCHER_HOST"],
      );
      const error = await rejection(from(home, { SERVICE_LAUNCHER_PORT: '"82"' }));
      expect(error.message).toContain("must be a whole number without quotation marks;");
    }));

  test("suggests the right name of a misspelt variable without its value", () =>
    withHome(async (home) => {
      const { warnings } = await from(home, { SERVICE_LAUNCHER_PROT: "hunter2" });
      expect(warnings).toEqual([
        'the environment variable SERVICE_LAUNCHER_PROT is not a setting. Did you mean "SERVICE_LAUNCHER_PORT"?',
      ]);
    }));

  test.each([
    "SERVICE_HOME",
    "SERVICE_CHANNELS_TELEGRAM_ENABLED",
    "SERVICE_CHANNELS_PICO_CLIENT_ENABLED",
    "SERVICE_LAUNCHER_TOKEN",
    "SERVICE_CHANNELS_PICO_TOKEN",
    "PATH",
  ])("gives no warning about %s", (name) =>
    withHome(async (home) => expect((await from(home, { [name]: secret })).warnings).toEqual([])),
  );
});

describe("names of variables that look like a known one", () => {
  test.each([
    ["service_launcher_port", "SERVICE_LAUNCHER_PORT"],
    ["SERVICE_LАUNCHER_PORT", "SERVICE_LAUNCHER_PORT"],
    ["SERVICE_CHANNELS_PICO_TOKЕN", "SERVICE_CHANNELS_PICO_TOKEN"],
    ["Service_Launcher_Token", "SERVICE_LAUNCHER_TOKEN"],
    ["SERVICE_HOME\u00a0", "SERVICE_HOME"],
  ])("end the start: %j", (name, known) =>
    withHome(async (home) => {
      const error = await rejection(from(home, { [name]: secret }));
      expect(error).toMatchObject({ code: "ENV_LOOKS_LIKE" });
      expect(error.message).toContain(`Rename it to ${known}`);
      expect(error.message).not.toContain(secret);
    }),
  );
});
