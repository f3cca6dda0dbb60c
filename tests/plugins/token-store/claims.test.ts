// Tests claims: sources of a token, generation, warnings and rejected values.
import { readFile, readdir } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { files } from "../../../plugins/token-store/index.ts";
import { codeFrom, rejection } from "../../support/sample-plugins.ts";
import { withFiles, withHome, withTokens } from "../../support/token-store-harness.ts";

const token = "correct-horse-battery-staple";

describe("Tokens.claim for the launcher", () => {
  test("prefers the environment and writes nothing", () =>
    withHome(async (home) => {
      await home.write("launcher-config.json", { launcher_token: "the-token-of-the-file-x" });
      const before = await readFile(home.at("launcher-config.json"), "utf8");
      const env = { SERVICE_LAUNCHER_TOKEN: ` ${token} ` };
      await withFiles(
        home,
        env,
        { launcher: { generate: true } },
        async ({ claimed, tokens, kernel, lines }) => {
          expect(claimed["launcher"]).toEqual({ version: 1, source: "env", managedByEnv: true });
          expect(lines.map(({ text }) => text)).toEqual(["launcher token source: env"]);
          expect(await tokens.verify("launcher", token)).toBe(1);
          expect(kernel.state()).toBe("running");
        },
      );
      expect(await readdir(home.path)).toEqual(["launcher-config.json"]);
      expect(await readFile(home.at("launcher-config.json"), "utf8")).toBe(before);
    }));

  test("reads the file if the environment variable is blank", () =>
    withHome(async (home) => {
      await home.write("launcher-config.json", { port: 18800, launcher_token: token });
      const env = { SERVICE_LAUNCHER_TOKEN: "  " };
      await withFiles(
        home,
        env,
        { launcher: { generate: true } },
        ({ claimed, kernel, secrets, lines }) => {
          expect(claimed["launcher"]).toEqual({
            version: 1,
            source: "config",
            managedByEnv: false,
          });
          expect(lines.map(({ text }) => text)).toEqual(["launcher token source: config"]);
          expect(secrets.reveal("launcher")).toBe(token);
          expect(kernel.state()).toBe("running");
        },
      );
    }));

  test("generates a token and begins setup if there is none", () =>
    withHome(
      async (home) => {
        let first = "";
        await withFiles(
          home,
          {},
          { launcher: { generate: true } },
          ({ claimed, kernel, secrets, facts, lines }) => {
            first = secrets.reveal("launcher") ?? "";
            expect(first).toMatch(/^[\w-]{43}$/);
            expect(claimed["launcher"]).toEqual({
              version: 1,
              source: "random",
              managedByEnv: false,
            });
            expect(kernel.state()).toBe("setup");
            expect(facts).toEqual([
              {
                type: "token-store:resolved",
                name: "launcher",
                version: 1,
                source: "random",
                managedByEnv: false,
              },
              { type: "kernel:state-changed", from: null, to: "setup" },
            ]);
            expect(lines).toContainEqual(
              expect.objectContaining({
                level: "info",
                source: "random",
                text: "launcher token source: random",
              }),
            );
          },
        );
        await withFiles(
          home,
          {},
          { launcher: { generate: true } },
          ({ claimed, kernel, secrets }) => {
            expect(secrets.reveal("launcher")).toBe(first);
            expect(claimed["launcher"]?.source).toBe("config");
            expect(kernel.state()).toBe("setup");
          },
        );
      },
      { fresh: true },
    ));

  test("passes a generated token to the generated callback once", () =>
    withHome(async (home) => {
      const generated: string[] = [];
      const backend = () =>
        files({ home: home.path, env: {}, generated: (value) => void generated.push(value) });
      await withTokens(backend(), { launcher: { generate: true } }, ({ secrets }) =>
        expect(generated).toEqual([secrets.reveal("launcher")]),
      );
      await withTokens(backend(), { launcher: { generate: true } }, async ({ secrets }) => {
        await secrets.replace("launcher", { value: token, expect: 1 });
        expect(generated).toHaveLength(1);
      });
    }));

  test("stays unconfigured without a token and without generate", () =>
    withHome(async (home) => {
      await withFiles(
        home,
        {},
        { launcher: {} },
        async ({ claimed, kernel, tokens, secrets, facts }) => {
          expect(claimed["launcher"]).toEqual({ version: 0, source: "none", managedByEnv: false });
          expect(kernel.state()).toBe("unconfigured");
          for (const candidate of ["", " ", "undefined", token]) {
            expect(await tokens.verify("launcher", candidate)).toBe(false);
          }
          expect(await readdir(home.path)).toEqual([]);
          expect(await secrets.replace("launcher", { value: token, expect: 0 })).toEqual({
            version: 1,
            source: "config",
            managedByEnv: false,
          });
          expect(kernel.state()).toBe("running");
          expect(facts.at(-1)).toEqual({
            type: "kernel:state-changed",
            from: "unconfigured",
            to: "running",
          });
          expect(await tokens.verify("launcher", token)).toBe(1);
        },
      );
    }));

  test("runs and writes no file if no plugin claims the token", () =>
    withHome(async (home) => {
      await home.write(
        ".security.yml",
        "channels: { pico_client: { token: correct-horse-battery } }\n",
      );
      await withFiles(home, {}, { pico_client: {} }, ({ kernel, claimed }) => {
        expect(kernel.state()).toBe("running");
        expect(claimed["pico_client"]?.source).toBe("security");
      });
      expect(await readdir(home.path)).toEqual([".security.yml"]);
    }));

  test("reads the metrics token from environment, then launcher-config.json", () =>
    withHome(async (home) => {
      await home.write("launcher-config.json", {
        launcher_token: token,
        metrics_token: "metrics-of-the-file",
      });
      await withFiles(home, {}, { metrics: {} }, ({ secrets }) =>
        expect(secrets.reveal("metrics")).toBe("metrics-of-the-file"),
      );
      const env = { SERVICE_METRICS_TOKEN: "metrics-of-the-env" };
      await withFiles(home, env, { metrics: {} }, ({ secrets, claimed }) => {
        expect(secrets.reveal("metrics")).toBe("metrics-of-the-env");
        expect(claimed["metrics"]?.source).toBe("env");
      });
    }));
});

describe("Tokens.claim for a channel", () => {
  test.each([
    [
      "env",
      { SERVICE_CHANNELS_PICO_TOKEN: "token-of-the-environment" },
      "token-of-the-environment",
    ],
    ["security", { SERVICE_CHANNELS_PICO_TOKEN: "\t" }, "token-of-the-security-file"],
  ])("reads %s if no location precedes it", (source, env, expected) =>
    withHome(async (home) => {
      await home.write(
        ".security.yml",
        'channels:\n  pico:\n    token: "token-of-the-security-file"\n',
      );
      await home.write("config.json", {
        channels: { pico: { enabled: true, token: "token-of-the-configuration" } },
      });
      await withFiles(home, env, { pico: {} }, ({ claimed, secrets, lines }) => {
        expect(claimed["pico"]?.source).toBe(source);
        expect(secrets.reveal("pico")).toBe(expected);
        expect(lines.filter(({ level }) => level === "warn")).toEqual([]);
      });
    }),
  );

  test("warns about a token in config.json", () =>
    withHome(async (home) => {
      await home.write(".security.yml", "channels:\n  pico:\n    token:\n");
      await home.write("config.json", {
        channels: { pico: { token: "token-of-the-configuration" } },
      });
      await withFiles(home, {}, { pico: {} }, ({ claimed, lines }) => {
        expect(claimed["pico"]?.source).toBe("config");
        const [warning] = lines.filter(({ level }) => level === "warn");
        expect(warning?.text).toContain(".security.yml for production");
        expect(warning?.text).toContain("SERVICE_CHANNELS_PICO_TOKEN for containers");
        expect(JSON.stringify(lines)).not.toContain("token-of-the-configuration");
      });
    }));

  test("keeps secret files in the home if config.json is elsewhere", () =>
    withHome(async (home) => {
      await withHome(async (other) => {
        await other.write("my.json", {
          channels: { pico: { token: "token-of-the-configuration" } },
        });
        const backend = () => files({ home: home.path, env: {}, config: other.at("my.json") });
        await withTokens(backend(), { pico: {} }, async ({ claimed, secrets }) => {
          expect(claimed["pico"]?.source).toBe("config");
          await secrets.replace("pico", { value: token, expect: 1 });
        });
        await withTokens(backend(), { pico: {} }, ({ claimed }) =>
          expect(claimed["pico"]?.source).toBe("security"),
        );
        expect(await readdir(other.path)).toEqual(["my.json"]);
      });
    }));

  test("reads one variable per channel with the prefix of the host", () =>
    withHome(async (home) => {
      const env = {
        ACME_CHANNELS_PICO_CLIENT_TOKEN: "client-token-of-acme",
        ACME_CHANNELS_TELEGRAM_TOKEN: "telegram-token-of-acme",
        SERVICE_CHANNELS_PICO_TOKEN: token,
      };
      const backend = files({ home: home.path, env, brand: "acme" });
      await withTokens(backend, { pico_client: {}, telegram: {}, pico: {} }, ({ secrets }) => {
        expect(secrets.reveal("pico_client")).toBe("client-token-of-acme");
        expect(secrets.reveal("telegram")).toBe("telegram-token-of-acme");
        expect(secrets.reveal("pico")).toBeUndefined();
      });
    }));

  test("stores a generated token of 64 hex digits in .security.yml", () =>
    withHome(async (home) => {
      await withFiles(
        home,
        {},
        { pico: { generate: true } },
        async ({ secrets, kernel, claimed }) => {
          expect(secrets.reveal("pico")).toMatch(/^[0-9a-f]{64}$/);
          expect(claimed["pico"]?.source).toBe("random");
          expect(kernel.state()).toBe("running");
          expect(await readFile(home.at(".security.yml"), "utf8")).toContain(
            secrets.reveal("pico"),
          );
        },
      );
      await withFiles(home, {}, { pico: {} }, ({ claimed }) =>
        expect(claimed["pico"]?.source).toBe("security"),
      );
    }));

  test.each([
    "1234567890123456",
    "0012345678901234567890",
    "0x1234567890123456",
    "1e10",
    "12345678901234567890123",
  ])("accepts unquoted digits as text: %s", (value) =>
    withHome(async (home) => {
      await home.write(".security.yml", `channels:\n  pico:\n    token: ${value}\n`);
      await withFiles(home, {}, { pico: {} }, ({ secrets }) =>
        expect(secrets.reveal("pico")).toBe(value),
      );
    }),
  );

  test("rejects a number that JSON cannot represent exactly", () =>
    withHome(async (home) => {
      await home.write("config.json", '{"channels":{"pico":{"token":12345678901234567890123}}}');
      expect(await codeFrom(withFiles(home, {}, { pico: {} }, () => undefined))).toBe(
        "token_not_text",
      );
    }));

  test.each(["[a, b]", "{ a: b }", "true"])(
    "stops the start on a value other than text: %s",
    (value) =>
      withHome(async (home) => {
        await home.write(".security.yml", `channels:\n  pico:\n    token: ${value}\n`);
        const error = await rejection(withFiles(home, {}, { pico: {} }, () => undefined));
        expect(error.code).toBe("token_not_text");
        expect(error.message).toBe(
          `${home.at(".security.yml")}, line 3, column 12: ` +
            '"channels.pico.token" must be text in quotation marks.',
        );
      }),
  );
});
