// Tests edits of token files while the kernel runs.
import { rename, unlink, writeFile, readFile } from "node:fs/promises";
import { describe, expect, test, vi } from "vitest";
import { files, type TokenBackend } from "../../../plugins/token-store/index.ts";
import {
  withFiles,
  withHome,
  withTokens,
  type Home,
  type TokenServer,
} from "../../support/token-store-harness.ts";

const OLD = "the-first-token-0123456789";
const NEW = "the-second-token-0123456789";
const NEXT = "the-third-token-0123456789";

const security = (token: string, name = "pico"): string =>
  `channels:\n  ${name}:\n    token: "${token}"\n`;
const eventually = (check: () => unknown): Promise<unknown> =>
  vi.waitFor(check, { timeout: 20_000, interval: 20 });
const verifies = ({ tokens }: TokenServer, name: string, token: string): Promise<unknown> =>
  eventually(async () => expect(await tokens.verify(name, token)).not.toBe(false));
const logs = ({ lines }: TokenServer, text: RegExp): Promise<unknown> =>
  eventually(() => expect(lines.map((line) => line.text).join("\n")).toMatch(text));
const eventsOf = ({ facts }: TokenServer, type: string): object[] =>
  facts.filter((event) => (event as { type: string }).type === type);

/** Starts with a pico token in `.security.yml` and a launcher token in `launcher-config.json`. */
const withPico = (
  visit: (server: TokenServer, home: Home) => Promise<void>,
  { env = {}, exposed = false }: { env?: Record<string, string>; exposed?: boolean } = {},
): Promise<void> =>
  withHome(async (home) => {
    await home.write(".security.yml", security(OLD));
    await home.write("launcher-config.json", { launcher_token: OLD });
    await withFiles(home, env, { launcher: { generate: true }, pico: { exposed } }, (server) =>
      visit(server, home),
    );
  });

describe("TokenWatcher with .security.yml", () => {
  test("replaces the token and increments its version", () =>
    withPico(async (server, home) => {
      await home.write(".security.yml", security(NEW));
      await verifies(server, "pico", NEW);
      expect(await server.tokens.verify("pico", OLD)).toBe(false);
      expect(server.tokens.info("pico")).toEqual({
        version: 2,
        source: "security",
        managedByEnv: false,
      });
      expect(eventsOf(server, "token-store:rotated")).toEqual([
        { type: "token-store:rotated", name: "pico", version: 2, graceS: 0 },
      ]);
      expect(server.lines.some((line) => JSON.stringify(line).includes(NEW))).toBe(false);
    }));

  test("applies an edit made during the start", () =>
    withHome(async (home) => {
      await home.write(".security.yml", security(OLD));
      const backend = files({ home: home.path, env: {} });
      const resolve: TokenBackend["resolve"] = async (name, source) => {
        const found = await backend.resolve(name, source);
        if (source === undefined) await home.write(".security.yml", security(NEW));
        return found;
      };
      await withTokens({ ...backend, resolve }, { pico: {} }, async (server) => {
        await verifies(server, "pico", NEW);
        expect(eventsOf(server, "token-store:rotated")).toHaveLength(1);
      });
    }));

  test.each([
    ["Token", 3, '    Token: "'],
    ["a no-break space", 3, '    \u00a0token: "'],
    ["a Cyrillic letter", 3, '    tоken: "'],
  ])("keeps the token if its key becomes %s", (_, line, start) =>
    withPico(async (server, home) => {
      await home.write(".security.yml", `channels:\n  pico:\n${start}${NEW}"\n`);
      await logs(server, new RegExp(`line ${line}, column 5: expected the key "token"`));
      expect(await server.tokens.verify("pico", OLD)).not.toBe(false);
      expect(eventsOf(server, "token-store:removed")).toEqual([]);
    }),
  );

  test("keeps the launcher token if its key gets a capital", () =>
    withPico(async (server, home) => {
      await home.write("launcher-config.json", { Launcher_token: NEW });
      await logs(server, /line \d+, column \d+: expected the key "launcher_token"/);
      expect(await server.tokens.verify("launcher", OLD)).not.toBe(false);
    }));

  test("revokes a removed token and assigns new versions", () =>
    withPico(async (server, home) => {
      await home.write(".security.yml", "channels: {}\n");
      await eventually(() =>
        expect(eventsOf(server, "token-store:removed")).toEqual([
          { type: "token-store:removed", name: "pico" },
        ]),
      );
      expect(server.tokens.info("pico")).toEqual({
        version: 0,
        source: "none",
        managedByEnv: false,
      });
      expect(await server.tokens.verify("pico", OLD)).toBe(false);
      await home.write(".security.yml", security(OLD));
      await verifies(server, "pico", OLD);
      expect(server.tokens.info("pico").version).toBe(2);
    }));

  test("falls back to the next location", () =>
    withPico(async (server, home) => {
      await home.write("config.json", { channels: { pico: { token: NEW } } });
      await home.write(".security.yml", "channels: {}\n");
      await verifies(server, "pico", NEW);
      expect(server.tokens.info("pico").source).toBe("config");
      expect(eventsOf(server, "token-store:removed")).toEqual([]);
    }));

  test.each([
    ["missing", (home: Home) => unlink(home.at(".security.yml"))],
    ["empty", (home: Home) => home.write(".security.yml", "")],
    ["corrupt", (home: Home) => home.write(".security.yml", "channels: {pico: [")],
    ["not text", (home: Home) => home.write(".security.yml", "channels: {pico: {token: [1, 2]}}")],
    [
      "without a usable token line",
      (home: Home) => home.write(".security.yml", `channels:\n  pico:\n    token: &${NEW}\n`),
    ],
    [
      "without a space after a colon",
      (home: Home) => home.write(".security.yml", `channels:\n  pico:\n    token:${NEW}\n`),
    ],
  ])("keeps the last valid token while the file is %s", (_, breakFile) =>
    withPico(async (server, home) => {
      await breakFile(home);
      await logs(server, /the pico token stays as it was/);
      expect(await server.tokens.verify("pico", OLD)).toBe(1);
      expect(eventsOf(server, "token-store:removed")).toEqual([]);
      await home.write(".security.yml", security(NEW));
      await verifies(server, "pico", NEW);
    }),
  );

  test("rejects a short value that other machines could guess", () =>
    withPico(
      async (server, home) => {
        await home.write(".security.yml", security("1234567"));
        await logs(server, /rejected the new pico token.*fewer than 8 characters/);
        expect(await server.tokens.verify("pico", OLD)).toBe(1);
        expect(eventsOf(server, "token-store:rotated")).toEqual([]);
      },
      { exposed: true },
    ));

  test.each([
    ["two characters", "ab", /fewer than 16 characters/],
    ["a control character", "one\\u0007two-three-four", /control character/],
  ])("treats %s as the start does: with a warning", (_, written, warning) =>
    withHome(async (home) => {
      const value = JSON.parse(`"${written}"`) as string;
      await home.write(".security.yml", security(written));
      await withFiles(home, {}, { pico: {} }, async (server) => {
        await logs(server, warning);
        await home.write(".security.yml", security(NEW));
        await verifies(server, "pico", NEW);
        await home.write(".security.yml", security(written));
        await verifies(server, "pico", value);
        expect(server.lines.filter(({ text }) => warning.test(text))).toHaveLength(2);
        expect(server.lines.filter(({ text }) => text.startsWith("rejected"))).toEqual([]);
      });
    }),
  );

  test("applies edits that rename a new file into place", () =>
    withPico(async (server, home) => {
      await writeFile(home.at(".security.yml.swp"), security(NEW));
      await rename(home.at(".security.yml.swp"), home.at(".security.yml"));
      await verifies(server, "pico", NEW);
    }));

  test("warns of the same mistake again after a rotation", () =>
    withPico(
      async (server, home) => {
        const rejections = () =>
          server.lines.filter(({ text }) => text.startsWith("rejected the new pico token"));
        await home.write(".security.yml", security("short"));
        await eventually(() => expect(rejections()).toHaveLength(1));
        await server.secrets.replace("pico", { expect: 1 });
        await home.write(".security.yml", security("short"));
        await eventually(() => expect(rejections()).toHaveLength(2));
      },
      { exposed: true },
    ));

  test("ignores edits if the environment sets the token", () =>
    withPico(
      async (server, home) => {
        await home.write(".security.yml", security(NEW));
        await logs(
          server,
          /the pico token comes from the environment: an edit of the files changes nothing/,
        );
        await home.write(".security.yml", security(NEXT));
        await home.write("launcher-config.json", { launcher_token: NEW });
        await verifies(server, "launcher", NEW);
        expect(await server.tokens.verify("pico", "from-the-environment-01")).toBe(1);
        expect(server.lines.filter(({ text }) => /changes nothing/.test(text))).toHaveLength(1);
      },
      { env: { SERVICE_CHANNELS_PICO_TOKEN: "from-the-environment-01" } },
    ));
});

describe("TokenWatcher with launcher-config.json", () => {
  test("rotates the launcher token", () =>
    withPico(async (server, home) => {
      await home.write("launcher-config.json", { launcher_token: NEW });
      await verifies(server, "launcher", NEW);
      expect(await server.tokens.verify("launcher", OLD)).toBe(false);
      const states = eventsOf(server, "kernel:state-changed").map(
        (event) => (event as { to: string }).to,
      );
      expect(states.slice(-2)).toEqual(["rotating", "running"]);
    }));

  test("keeps the last valid token if the file contains none", () =>
    withPico(async (server, home) => {
      await home.write("launcher-config.json", { port: 18800 });
      await logs(server, /the launcher token stays as it was: its file contains none/);
      expect(await server.tokens.verify("launcher", OLD)).toBe(1);
      expect(server.kernel.state()).toBe("running");
    }));

  test("ends setup when an edit changes the token", () =>
    withHome(async (home) => {
      await withFiles(home, {}, { launcher: { generate: true } }, async (server) => {
        expect(server.kernel.state()).toBe("setup");
        await home.write("launcher-config.json", { launcher_token: NEW });
        await verifies(server, "launcher", NEW);
        expect(server.kernel.state()).toBe("running");
      });
    }));

  test("ends setup when an edit removes the mark", () =>
    withHome(async (home) => {
      await withFiles(home, {}, { launcher: { generate: true } }, async (server) => {
        const { setup_pending: _, ...rest } = JSON.parse(
          await readFile(home.at("launcher-config.json"), "utf8"),
        ) as Record<string, unknown>;
        await home.write("launcher-config.json", rest);
        await eventually(() => expect(server.kernel.state()).toBe("running"));
        expect(server.tokens.info("launcher").version).toBe(1);
      });
    }));
});

describe("TokenWatcher with a wrong value in JSON", () => {
  const inConfig = (pico: unknown) => ["config.json", JSON.stringify({ channels: { pico } })];
  test.each([
    [
      "launcher",
      "a list",
      ["launcher-config.json", JSON.stringify({ metrics_token: OLD, launcher_token: [NEW] })],
    ],
    ["metrics", "true", ["launcher-config.json", JSON.stringify({ metrics_token: true })]],
    ["pico", "a list", inConfig({ token: [NEW] })],
    ["pico", "an object", inConfig({ token: { value: NEW } })],
    ["pico", "a text as parent", inConfig(NEW)],
    ["pico", "a list as parent", ["config.json", JSON.stringify({ channels: [] })]],
  ])("keeps the %s token in use: %s", (name, _, [file = "", broken = ""]) =>
    withHome(async (home) => {
      const values = { launcher_token: OLD, metrics_token: OLD };
      await home.write("launcher-config.json", values);
      await home.write("config.json", { channels: { pico: { token: OLD } } });
      const claims = { launcher: {}, metrics: {}, pico: {} };
      await withFiles(home, {}, claims, async (server) => {
        await home.write(file, broken);
        await logs(server, new RegExp(`the ${name} token stays as it was.* line 1, column \\d+`));
        expect(await server.tokens.verify(name, OLD)).toBe(1);
        expect(eventsOf(server, "token-store:removed")).toEqual([]);
        expect(JSON.stringify(server.lines)).not.toContain(NEW);
      });
    }),
  );
});

describe("TokenWatcher after TokenSecrets.replace", () => {
  test("emits one event per replacement", () =>
    withPico(async (server, home) => {
      await server.secrets.replace("pico", { value: NEW, expect: 1 });
      await server.secrets.replace("launcher", { value: NEW, expect: 1 });
      await home.write("launcher-config.json", { launcher_token: NEXT });
      await verifies(server, "launcher", NEXT);
      expect(
        eventsOf(server, "token-store:rotated").map((event) => (event as { name: string }).name),
      ).toEqual(["pico", "launcher", "launcher"]);
    }));
});

describe("Tokens.describe", () => {
  test("names variable, time, weakness and other locations", () =>
    withHome(async (home) => {
      await home.write(".security.yml", security(OLD));
      await home.write("config.json", { channels: { pico: { token: "short-one" } } });
      const env = { SERVICE_CHANNELS_PICO_TOKEN: "short-one" };
      await withFiles(home, env, { pico: {} }, async ({ tokens }) => {
        const description = await tokens.describe("pico");
        expect(description).toEqual({
          name: "pico",
          version: 1,
          source: "env",
          managedByEnv: true,
          variable: "SERVICE_CHANNELS_PICO_TOKEN",
          concern: "it has fewer than 16 characters",
          others: [
            { source: "security", same: false },
            { source: "config", same: true },
          ],
        });
      });
      await withFiles(home, {}, { pico: {} }, async ({ tokens }) => {
        expect(await tokens.describe("pico")).toMatchObject({
          source: "security",
          changedAt: expect.any(Number),
          others: [{ source: "config", same: false }],
        });
      });
    }));
});
