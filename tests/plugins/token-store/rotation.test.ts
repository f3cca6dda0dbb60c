// Tests failing and slow rotations, and keys derived from tokens.
import { createHash } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { memory, type TokenBackend } from "../../../plugins/token-store/index.ts";
import { codeFrom, gate, rejection, turn } from "../../support/sample-plugins.ts";
import { withFiles, withHome, withTokens } from "../../support/token-store-harness.ts";

const old = "the-old-token-0123456789";
const fresh = "the-new-token-0123456789";

describe("TokenSecrets.replace with a failing write", () => {
  test("keeps the old token and the state", () =>
    withHome(async (home) => {
      await home.write("launcher-config.json", { launcher_token: old });
      await withFiles(
        home,
        {},
        { launcher: {} },
        async ({ secrets, tokens, kernel, facts, lines }) => {
          await rm(home.path, { recursive: true });
          await writeFile(home.path, "a file in place of the home");
          const error = await rejection(secrets.replace("launcher", { value: fresh, expect: 1 }));
          expect(error.code).toBe("store_unavailable");
          expect(error.message).toContain("The old one is still valid.");
          expect(kernel.state()).toBe("running");
          expect(tokens.info("launcher")).toEqual({
            version: 1,
            source: "config",
            managedByEnv: false,
          });
          expect(await tokens.verify("launcher", old)).toBe(1);
          expect(await tokens.verify("launcher", fresh)).toBe(false);
          expect(facts.slice(-2).map((event) => (event as { to: string }).to)).toEqual([
            "rotating",
            "running",
          ]);
          expect(lines.at(-1)).toMatchObject({ level: "error" });
          expect(JSON.stringify([error.message, lines])).not.toMatch(new RegExp(`${old}|${fresh}`));
        },
      );
    }));

  test("hides an error message that contains the token", async () => {
    const backend: TokenBackend = {
      ...memory({ pico: old }),
      write: (_name, value) => {
        throw Object.assign(new Error(`cannot write ${value}`), { code: "ENOSPC" });
      },
    };
    await withTokens(backend, { pico: {} }, async ({ secrets, lines }) => {
      const error = await rejection(secrets.replace("pico", { value: fresh, expect: 1 }));
      expect(error.code).toBe("store_unavailable");
      expect(error.cause).toBeUndefined();
      expect(`${error.stack} ${JSON.stringify(error)} ${JSON.stringify(lines)}`).not.toContain(
        fresh,
      );
      expect(lines.at(-1)).toMatchObject({ level: "error", code: "ENOSPC" });
    });
  });

  test("never overwrites a corrupt file", () =>
    withHome(async (home) => {
      await home.write("launcher-config.json", { launcher_token: old });
      await withFiles(home, {}, { launcher: {} }, async ({ secrets, tokens }) => {
        await home.write("launcher-config.json", '{ "launcher_token": ');
        expect(await codeFrom(secrets.replace("launcher", { value: fresh, expect: 1 }))).toBe(
          "store_unavailable",
        );
        expect(await readFile(home.at("launcher-config.json"), "utf8")).toBe(
          '{ "launcher_token": ',
        );
        expect(await tokens.verify("launcher", old)).toBe(1);
      });
    }));
});

describe("Tokens.verify during a rotation", () => {
  const createSlowBackend = () => {
    const writeGate = gate();
    const store = memory({ launcher: old, pico: old });
    const backend: TokenBackend = {
      ...store,
      async write(...args) {
        await writeGate.promise;
        await store.write(...args);
      },
    };
    return { writeGate, backend };
  };

  test("waits for the new token", async () => {
    const { writeGate, backend } = createSlowBackend();
    await withTokens(backend, { launcher: {} }, async ({ secrets, tokens, clock, kernel }) => {
      const replacing = secrets.replace("launcher", { value: fresh, expect: 1 });
      expect(kernel.state()).toBe("rotating");
      const checks = Promise.all([
        tokens.verify("launcher", old),
        tokens.verify("launcher", fresh),
      ]);
      clock.increment(4_999);
      await turn();
      writeGate.open();
      await replacing;
      expect(await checks).toEqual([false, 2]);
    });
  });

  test("rejects after five seconds and lets the rotation continue", async () => {
    const { writeGate, backend } = createSlowBackend();
    await withTokens(backend, { launcher: {} }, async ({ secrets, tokens, clock, kernel }) => {
      const replacing = secrets.replace("launcher", { value: fresh, expect: 1 });
      let isSettled = false;
      const check = codeFrom(tokens.verify("launcher", fresh)).finally(() => {
        isSettled = true;
      });
      clock.increment(4_999);
      await turn();
      expect(isSettled).toBe(false);
      clock.increment(1);
      expect(await check).toBe("store_unavailable");
      clock.increment(3_600_000);
      expect(kernel.state()).toBe("rotating");
      writeGate.open();
      await replacing;
      expect(kernel.state()).toBe("running");
      expect(await tokens.verify("launcher", fresh)).toBe(2);
    });
  });

  test("clears its timer after the rotation", async () => {
    const { writeGate, backend } = createSlowBackend();
    await withTokens(backend, { launcher: {} }, async ({ secrets, tokens, clock }) => {
      let timers = 0;
      const { setTimeout: set, clearTimeout: clear } = clock;
      clock.setTimeout = (run, ms) => {
        timers += 1;
        return set.call(clock, run, ms);
      };
      clock.clearTimeout = (id) => {
        timers -= 1;
        clear.call(clock, id);
      };
      const replacing = secrets.replace("launcher", { value: fresh, expect: 1 });
      const check = tokens.verify("launcher", fresh);
      expect(timers).toBe(1);
      writeGate.open();
      await replacing;
      await check;
      expect(timers).toBe(0);
    });
  });

  test("rejects a second rotation as busy and verifies other tokens", async () => {
    const { writeGate, backend } = createSlowBackend();
    await withTokens(backend, { launcher: {}, pico: {} }, async ({ secrets, tokens }) => {
      const replacing = secrets.replace("launcher", { value: fresh, expect: 1 });
      expect(await codeFrom(secrets.replace("launcher", { value: fresh, expect: 1 }))).toBe("busy");
      expect(await codeFrom(secrets.replace("launcher", { value: fresh, expect: 2 }))).toBe("busy");
      expect(await tokens.verify("pico", old)).toBe(1);
      writeGate.open();
      await replacing;
    });
  });

  test("accepts the old token after a failed rotation", async () => {
    const { writeGate, backend } = createSlowBackend();
    await withTokens(backend, { launcher: {} }, async ({ secrets, tokens }) => {
      const replacing = codeFrom(secrets.replace("launcher", { value: fresh, expect: 1 }));
      const checks = Promise.all([
        tokens.verify("launcher", old),
        tokens.verify("launcher", fresh),
      ]);
      writeGate.fail(new Error("disk full"));
      expect(await replacing).toBe("store_unavailable");
      expect(await checks).toEqual([1, false]);
    });
  });
});

describe("Tokens.derive", () => {
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

  test("returns one key per token, purpose and process", async () => {
    const keys: string[] = [];
    for (let run = 0; run < 2; run++) {
      await withTokens(
        memory({ launcher: old, pico: old }),
        { launcher: {}, pico: {} },
        ({ tokens }) => {
          expect(tokens.derive("launcher", "cookie")).toHaveLength(32);
          expect(hex(tokens.derive("launcher", "cookie"))).toBe(
            hex(tokens.derive("launcher", "cookie")),
          );
          keys.push(
            hex(tokens.derive("launcher", "cookie")),
            hex(tokens.derive("launcher", "setup")),
            hex(tokens.derive("pico", "cookie")),
          );
        },
      );
    }
    expect(new Set(keys).size).toBe(6);
  });

  test("changes only when the token changes", () =>
    withTokens(
      memory({ launcher: old, pico: old }),
      { launcher: {}, pico: {} },
      async ({ tokens, secrets }) => {
        const before = hex(tokens.derive("launcher", "cookie"));
        await secrets.replace("pico", { expect: 1 });
        await secrets.replace("launcher", { keep: true, expect: 1 });
        expect(hex(tokens.derive("launcher", "cookie"))).toBe(before);
        await secrets.replace("launcher", { value: fresh, expect: 1 });
        expect(hex(tokens.derive("launcher", "cookie"))).not.toBe(before);
      },
    ));

  test("never returns a plain digest of the token", () =>
    withTokens(
      memory({ launcher: old }),
      { launcher: {} },
      ({ tokens }) => {
        expect(hex(tokens.derive("launcher", "cookie"))).not.toBe(
          createHash("sha256").update(old).digest("hex"),
        );
        expect(hex(tokens.derive("launcher", "cookie"))).toHaveLength(64);
      },
      { random: (bytes) => new Uint8Array(bytes).fill(7) },
    ));
});
