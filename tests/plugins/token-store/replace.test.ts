// Tests replacing tokens in setup and while running.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { files, memory, type TokenBackend } from "../../../plugins/token-store/index.ts";
import { codeFrom, rejection } from "../../support/sample-plugins.ts";
import { withFiles, withHome, withTokens, type Home } from "../../support/token-store-harness.ts";

const old = "the-old-token-0123456789";
const fresh = "the-new-token-0123456789";
const json = async (home: Home): Promise<Record<string, unknown>> =>
  JSON.parse(await readFile(home.at("launcher-config.json"), "utf8"));
const pendingMark = (value: string): string =>
  createHash("sha256").update(value).digest("hex").slice(0, 16);

describe("TokenSecrets.replace in setup", () => {
  const inSetup = (visit: (home: Home, backend: () => TokenBackend) => Promise<void>) =>
    withHome((home) => visit(home, () => files({ home: home.path, env: {} })));

  test("stores a mark derived from the generated token", () =>
    inSetup(async (home, backend) => {
      await withTokens(backend(), { launcher: { generate: true } }, async ({ secrets }) => {
        const token = secrets.reveal("launcher") ?? "";
        expect(await json(home)).toEqual({
          launcher_token: token,
          setup_pending: pendingMark(token),
        });
      });
    }));

  test("ends setup on keep without a new version", () =>
    inSetup(async (home, backend) => {
      await withTokens(
        backend(),
        { launcher: { generate: true } },
        async ({ secrets, kernel, facts }) => {
          const token = secrets.reveal("launcher");
          expect(await secrets.replace("launcher", { keep: true, expect: 1 })).toEqual({
            version: 1,
            source: "random",
            managedByEnv: false,
          });
          expect(kernel.state()).toBe("running");
          expect(await json(home)).toEqual({ launcher_token: token });
          expect(facts.slice(-1)).toEqual([
            { type: "kernel:state-changed", from: "setup", to: "running" },
          ]);
        },
      );
      await withTokens(backend(), { launcher: { generate: true } }, ({ kernel, claimed }) => {
        expect(kernel.state()).toBe("running");
        expect(claimed["launcher"]?.source).toBe("config");
      });
    }));

  test("ends setup with a chosen token", () =>
    inSetup(async (home, backend) => {
      await withTokens(
        backend(),
        { launcher: { generate: true } },
        async ({ secrets, tokens, kernel, facts }) => {
          const generated = secrets.reveal("launcher") ?? "";
          expect(await secrets.replace("launcher", { value: `  ${fresh} `, expect: 1 })).toEqual({
            version: 2,
            source: "config",
            managedByEnv: false,
          });
          expect(kernel.state()).toBe("running");
          expect(await tokens.verify("launcher", fresh)).toBe(2);
          expect(await tokens.verify("launcher", generated)).toBe(false);
          expect(await json(home)).toEqual({ launcher_token: fresh });
          expect(facts.slice(-2)).toEqual([
            { type: "token-store:rotated", name: "launcher", version: 2, graceS: 0 },
            { type: "kernel:state-changed", from: "setup", to: "running" },
          ]);
        },
      );
    }));

  test("skips setup after a manual edit of the token", () =>
    inSetup(async (home, backend) => {
      await withTokens(backend(), { launcher: { generate: true } }, () => undefined);
      await home.write("launcher-config.json", { ...(await json(home)), launcher_token: fresh });
      await withTokens(backend(), { launcher: { generate: true } }, ({ kernel, secrets }) => {
        expect(kernel.state()).toBe("running");
        expect(secrets.reveal("launcher")).toBe(fresh);
      });
    }));

  test("accepts the first of two parallel requests", () =>
    inSetup(async (home, backend) => {
      await withTokens(backend(), { launcher: { generate: true } }, async ({ secrets, kernel }) => {
        const results = await Promise.allSettled([
          secrets.replace("launcher", { value: fresh, expect: 1 }),
          secrets.replace("launcher", { keep: true, expect: 1 }),
        ]);
        expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
        expect(await codeFrom(secrets.replace("launcher", { keep: true, expect: 1 }))).toBe(
          "stale",
        );
        expect(kernel.state()).toBe("running");
        expect((await json(home))["launcher_token"]).toBe(fresh);
      });
    }));

  test("stays in setup if the write fails", async () => {
    const store = memory();
    let fails = false;
    const backend: TokenBackend = {
      ...store,
      write: (...args) => (fails ? Promise.reject(new Error("disk full")) : store.write(...args)),
    };
    await withTokens(
      backend,
      { launcher: { generate: true } },
      async ({ secrets, tokens, kernel }) => {
        fails = true;
        const generated = secrets.reveal("launcher") ?? "";
        expect(await codeFrom(secrets.replace("launcher", { value: fresh, expect: 1 }))).toBe(
          "store_unavailable",
        );
        expect(await codeFrom(secrets.replace("launcher", { keep: true, expect: 1 }))).toBe(
          "store_unavailable",
        );
        expect(kernel.state()).toBe("setup");
        expect(await tokens.verify("launcher", generated)).toBe(1);
        fails = false;
        await secrets.replace("launcher", { value: fresh, expect: 1 });
        expect(kernel.state()).toBe("running");
      },
    );
  });
});

describe("TokenSecrets.replace", () => {
  test("accepts the new token before the state returns to running", async () => {
    const revealed: unknown[] = [];
    await withTokens(
      memory({ launcher: old }),
      { launcher: {} },
      async ({ secrets, tokens, kernel, facts }) => {
        kernel.on(
          "token-store:rotated",
          async () => void revealed.push(secrets.reveal("launcher")),
        );
        expect(await secrets.replace("launcher", { value: fresh, expect: 1, graceS: 30 })).toEqual({
          version: 2,
          source: "host",
          managedByEnv: false,
        });
        expect(facts.slice(-3)).toEqual([
          { type: "kernel:state-changed", from: "running", to: "rotating" },
          { type: "token-store:rotated", name: "launcher", version: 2, graceS: 30 },
          { type: "kernel:state-changed", from: "rotating", to: "running" },
        ]);
        expect(revealed).toEqual([fresh]);
        expect(await tokens.verify("launcher", old)).toBe(false);
        expect(await tokens.verify("launcher", fresh)).toBe(2);
        expect(kernel.state()).toBe("running");
      },
    );
  });

  test("keeps the launcher state when another token rotates", () =>
    withTokens(
      memory({ launcher: old, pico: old }),
      { launcher: {}, pico: {} },
      async ({ secrets, facts }) => {
        await secrets.replace("pico", { value: fresh, expect: 1 });
        expect(facts.slice(-1)).toEqual([
          { type: "token-store:rotated", name: "pico", version: 2, graceS: 0 },
        ]);
      },
    ));

  test("generates a token without a value", () =>
    withTokens(
      memory({ launcher: old, pico: old }),
      { launcher: {}, pico: {} },
      async ({ secrets }) => {
        await secrets.replace("launcher", { expect: 1 });
        await secrets.replace("pico", { expect: 1 });
        expect(secrets.reveal("launcher")).toMatch(/^[\w-]{43}$/);
        expect(secrets.reveal("pico")).toMatch(/^[0-9a-f]{64}$/);
      },
    ));

  test("accepts one of several parallel rotations", () =>
    withHome(async (home) => {
      await home.write("launcher-config.json", { launcher_token: old });
      await withFiles(home, {}, { launcher: {} }, async ({ secrets, kernel }) => {
        const values = [
          "first-token-0123456789",
          "second-token-0123456789",
          "third-token-0123456789",
        ];
        const results = await Promise.allSettled(
          values.map((value) => secrets.replace("launcher", { value, expect: 1 })),
        );
        const winner = results.findIndex(({ status }) => status === "fulfilled");
        expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
        expect(
          results.flatMap((result) =>
            result.status === "rejected" ? [(result.reason as { code: string }).code] : [],
          ),
        ).toEqual(["busy", "busy"]);
        expect(await json(home)).toEqual({ launcher_token: values[winner] });
        expect(secrets.reveal("launcher")).toBe(values[winner]);
        expect(kernel.state()).toBe("running");
      });
    }));

  test("rejects an outdated version as stale", () =>
    withTokens(memory({ pico: old }), { pico: {} }, async ({ secrets }) => {
      await secrets.replace("pico", { value: fresh, expect: 1 });
      expect(await codeFrom(secrets.replace("pico", { value: old, expect: 1 }))).toBe("stale");
      expect(secrets.reveal("pico")).toBe(fresh);
    }));

  test("rejects a token from the environment and names the variable", () =>
    withHome(async (home) => {
      await withFiles(
        home,
        { SERVICE_CHANNELS_PICO_TOKEN: old },
        { pico: {} },
        async ({ secrets }) => {
          const error = await rejection(secrets.replace("pico", { value: fresh, expect: 1 }));
          expect(error.code).toBe("token_managed_by_env");
          expect(error.message).toContain("SERVICE_CHANNELS_PICO_TOKEN");
          expect(error.message).not.toContain(old);
          expect(secrets.reveal("pico")).toBe(old);
        },
      );
    }));

  test.each([
    ["", "fewer than 16"],
    ["fifteen-letters", "fewer than 16"],
    ["a".repeat(257), "more than 256"],
    ["correct horse battery", "without spaces"],
    ["umlaut-ä-0123456789", "printable ASCII"],
    ["control-\u0007-0123456789", "printable ASCII"],
    ["x".repeat(20), "one character repeated"],
    ["ott_0123456789abcdef", "one-time links"],
  ])("rejects a weak token and names the rule: %j", (value, rule) =>
    withTokens(memory({ launcher: old }), { launcher: {} }, async ({ secrets, kernel, facts }) => {
      const error = await rejection(secrets.replace("launcher", { value, expect: 1 }));
      expect(error.code).toBe("weak_token");
      expect(error.message).toContain(rule);
      if (value) expect(error.message).not.toContain(value);
      expect(secrets.reveal("launcher")).toBe(old);
      expect(kernel.state()).toBe("running");
      expect(facts).toHaveLength(2);
    }),
  );

  test("rejects keep if there is no token", () =>
    withTokens(memory(), { pico: {} }, async ({ secrets }) => {
      expect(await codeFrom(secrets.replace("pico", { keep: true, expect: 0 }))).toBe("stale");
      expect(await secrets.replace("pico", { value: fresh, expect: 0 })).toMatchObject({
        version: 1,
      });
    }));
});
