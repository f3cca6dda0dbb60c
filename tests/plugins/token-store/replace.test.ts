import { createHash } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { files, memory, type TokenBackend } from "../../../plugins/token-store/index.ts";
import { codeFrom, gate, refusal, turn } from "../../support/sample-plugins.ts";
import { withFiles, withHome, withTokens, type Home } from "../../support/token-store-harness.ts";

const old = "the-old-token-0123456789";
const fresh = "the-new-token-0123456789";
const json = async (home: Home): Promise<Record<string, unknown>> =>
  JSON.parse(await readFile(home.at("launcher-config.json"), "utf8"));
const mark = (value: string): string =>
  createHash("sha256").update(value).digest("hex").slice(0, 16);

describe("setup", () => {
  const inSetup = (visit: (home: Home, form: () => TokenBackend) => Promise<void>) =>
    withHome((home) => visit(home, () => files({ home: home.path, env: {} })));

  test("the mark is written with the token and belongs to it alone", () =>
    inSetup(async (home, form) => {
      await withTokens(form(), { launcher: { generate: true } }, async ({ secrets }) => {
        const token = secrets.reveal("launcher") ?? "";
        expect(await json(home)).toEqual({ launcher_token: token, setup_pending: mark(token) });
      });
    }));

  test("keeping the generated token ends it: the mark is gone, version and label stay, nobody is signed out", () =>
    inSetup(async (home, form) => {
      await withTokens(
        form(),
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
      await withTokens(form(), { launcher: { generate: true } }, ({ kernel, claimed }) => {
        expect(kernel.state()).toBe("running");
        expect(claimed["launcher"]?.source).toBe("config");
      });
    }));

  test("choosing an own token ends it", () =>
    inSetup(async (home, form) => {
      await withTokens(
        form(),
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

  test("a token edited by hand ends it at the next start", () =>
    inSetup(async (home, form) => {
      await withTokens(form(), { launcher: { generate: true } }, () => undefined);
      await home.write("launcher-config.json", { ...(await json(home)), launcher_token: fresh });
      await withTokens(form(), { launcher: { generate: true } }, ({ kernel, secrets }) => {
        expect(kernel.state()).toBe("running");
        expect(secrets.reveal("launcher")).toBe(fresh);
      });
    }));

  test("the first of two setups wins, the second is refused", () =>
    inSetup(async (home, form) => {
      await withTokens(form(), { launcher: { generate: true } }, async ({ secrets, kernel }) => {
        const outcomes = await Promise.allSettled([
          secrets.replace("launcher", { value: fresh, expect: 1 }),
          secrets.replace("launcher", { keep: true, expect: 1 }),
        ]);
        expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
        expect(await codeFrom(secrets.replace("launcher", { keep: true, expect: 1 }))).toBe(
          "stale",
        );
        expect(kernel.state()).toBe("running");
        expect((await json(home))["launcher_token"]).toBe(fresh);
      });
    }));

  test("a write that fails leaves setup as it was", async () => {
    const own = memory();
    let fails = false;
    const form: TokenBackend = {
      ...own,
      write: (...what) => (fails ? Promise.reject(new Error("disk full")) : own.write(...what)),
    };
    await withTokens(
      form,
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

describe("rotation", () => {
  test("goes through rotating, and the new token counts before the state returns", async () => {
    const verified: unknown[] = [];
    await withTokens(
      memory({ launcher: old }),
      { launcher: {} },
      async ({ secrets, tokens, kernel, facts }) => {
        kernel.on(
          "token-store:rotated",
          async () => void verified.push(secrets.reveal("launcher")),
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
        expect(verified).toEqual([fresh]);
        expect(await tokens.verify("launcher", old)).toBe(false);
        expect(await tokens.verify("launcher", fresh)).toBe(2);
        expect(kernel.state()).toBe("running");
      },
    );
  });

  test("another token's does not touch the launcher's state", () =>
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

  test("without a value a fresh one is generated", () =>
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

  test("of two at once one wins, and the file holds the winner's", () =>
    withHome(async (home) => {
      await home.write("launcher-config.json", { launcher_token: old });
      await withFiles(home, {}, { launcher: {} }, async ({ secrets, kernel }) => {
        const values = [
          "first-token-0123456789",
          "second-token-0123456789",
          "third-token-0123456789",
        ];
        const outcomes = await Promise.allSettled(
          values.map((value) => secrets.replace("launcher", { value, expect: 1 })),
        );
        const winner = outcomes.findIndex(({ status }) => status === "fulfilled");
        expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
        expect(
          outcomes.flatMap((each) =>
            each.status === "rejected" ? [(each.reason as { code: string }).code] : [],
          ),
        ).toEqual(["busy", "busy"]);
        expect(await json(home)).toEqual({ launcher_token: values[winner] });
        expect(secrets.reveal("launcher")).toBe(values[winner]);
        expect(kernel.state()).toBe("running");
      });
    }));

  test("who saw an older version is refused as stale and writes nothing", () =>
    withTokens(memory({ pico: old }), { pico: {} }, async ({ secrets }) => {
      await secrets.replace("pico", { value: fresh, expect: 1 });
      expect(await codeFrom(secrets.replace("pico", { value: old, expect: 1 }))).toBe("stale");
      expect(secrets.reveal("pico")).toBe(fresh);
    }));

  test("a token of the environment is changed there", () =>
    withHome(async (home) => {
      await withFiles(
        home,
        { SERVICE_CHANNELS_PICO_TOKEN: old },
        { pico: {} },
        async ({ secrets }) => {
          const error = await refusal(secrets.replace("pico", { value: fresh, expect: 1 }));
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
  ])("a weak token is refused with the rule: %j", (value, rule) =>
    withTokens(memory({ launcher: old }), { launcher: {} }, async ({ secrets, kernel, facts }) => {
      const error = await refusal(secrets.replace("launcher", { value, expect: 1 }));
      expect(error.code).toBe("weak_token");
      expect(error.message).toContain(rule);
      if (value) expect(error.message).not.toContain(value);
      expect(secrets.reveal("launcher")).toBe(old);
      expect(kernel.state()).toBe("running");
      expect(facts).toHaveLength(2);
    }),
  );

  test("there is nothing to keep where there is no token", () =>
    withTokens(memory(), { pico: {} }, async ({ secrets }) => {
      expect(await codeFrom(secrets.replace("pico", { keep: true, expect: 0 }))).toBe("stale");
      expect(await secrets.replace("pico", { value: fresh, expect: 0 })).toMatchObject({
        version: 1,
      });
    }));
});

describe("a write that fails", () => {
  test("keeps the old token and the state, and says why", () =>
    withHome(async (home) => {
      await home.write("launcher-config.json", { launcher_token: old });
      await withFiles(
        home,
        {},
        { launcher: {} },
        async ({ secrets, tokens, kernel, facts, lines }) => {
          await rm(home.path, { recursive: true });
          await writeFile(home.path, "a file where the home was");
          const error = await refusal(secrets.replace("launcher", { value: fresh, expect: 1 }));
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
          expect(facts.slice(-2).map((fact) => (fact as { to: string }).to)).toEqual([
            "rotating",
            "running",
          ]);
          expect(lines.at(-1)).toMatchObject({ level: "error" });
          expect(JSON.stringify([error.message, lines])).not.toMatch(new RegExp(`${old}|${fresh}`));
        },
      );
    }));

  test("of a form that quotes the token neither reaches the log nor the caller", async () => {
    const form: TokenBackend = {
      ...memory({ pico: old }),
      write: (_name, value) => {
        throw Object.assign(new Error(`cannot write ${value}`), { code: "ENOSPC" });
      },
    };
    await withTokens(form, { pico: {} }, async ({ secrets, lines }) => {
      const error = await refusal(secrets.replace("pico", { value: fresh, expect: 1 }));
      expect(error.code).toBe("store_unavailable");
      expect(error.cause).toBeUndefined();
      expect(`${error.stack} ${JSON.stringify(error)} ${JSON.stringify(lines)}`).not.toContain(
        fresh,
      );
      expect(lines.at(-1)).toMatchObject({ level: "error", code: "ENOSPC" });
    });
  });

  test("a file that became corrupt is not overwritten", () =>
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

describe("while a token is replaced", () => {
  const slow = () => {
    const door = gate();
    const own = memory({ launcher: old, pico: old });
    const form: TokenBackend = {
      ...own,
      async write(...what) {
        await door.promise;
        await own.write(...what);
      },
    };
    return { door, form };
  };

  test("a check waits for the new one", async () => {
    const { door, form } = slow();
    await withTokens(form, { launcher: {} }, async ({ secrets, tokens, clock, kernel }) => {
      const replacing = secrets.replace("launcher", { value: fresh, expect: 1 });
      expect(kernel.state()).toBe("rotating");
      const checks = Promise.all([
        tokens.verify("launcher", old),
        tokens.verify("launcher", fresh),
      ]);
      clock.increment(4_999);
      await turn();
      door.open();
      await replacing;
      expect(await checks).toEqual([false, 2]);
    });
  });

  test("a check waits five seconds at most, and the rotation is not ended by that", async () => {
    const { door, form } = slow();
    await withTokens(form, { launcher: {} }, async ({ secrets, tokens, clock, kernel }) => {
      const replacing = secrets.replace("launcher", { value: fresh, expect: 1 });
      let answered = false;
      const check = codeFrom(tokens.verify("launcher", fresh)).finally(() => {
        answered = true;
      });
      clock.increment(4_999);
      await turn();
      expect(answered).toBe(false);
      clock.increment(1);
      expect(await check).toBe("store_unavailable");
      clock.increment(3_600_000);
      expect(kernel.state()).toBe("rotating");
      door.open();
      await replacing;
      expect(kernel.state()).toBe("running");
      expect(await tokens.verify("launcher", fresh)).toBe(2);
    });
  });

  test("a check that was answered leaves no timer behind", async () => {
    const { door, form } = slow();
    await withTokens(form, { launcher: {} }, async ({ secrets, tokens, clock }) => {
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
      door.open();
      await replacing;
      await check;
      expect(timers).toBe(0);
    });
  });

  test("a second one is refused as busy, other tokens are not affected", async () => {
    const { door, form } = slow();
    await withTokens(form, { launcher: {}, pico: {} }, async ({ secrets, tokens }) => {
      const replacing = secrets.replace("launcher", { value: fresh, expect: 1 });
      expect(await codeFrom(secrets.replace("launcher", { value: fresh, expect: 1 }))).toBe("busy");
      expect(await codeFrom(secrets.replace("launcher", { value: fresh, expect: 2 }))).toBe("busy");
      expect(await tokens.verify("pico", old)).toBe(1);
      door.open();
      await replacing;
    });
  });

  test("a check that waited for one that failed is answered by the old token", async () => {
    const { door, form } = slow();
    await withTokens(form, { launcher: {} }, async ({ secrets, tokens }) => {
      const replacing = codeFrom(secrets.replace("launcher", { value: fresh, expect: 1 }));
      const checks = Promise.all([
        tokens.verify("launcher", old),
        tokens.verify("launcher", fresh),
      ]);
      door.fail(new Error("disk full"));
      expect(await replacing).toBe("store_unavailable");
      expect(await checks).toEqual([1, false]);
    });
  });
});

describe("derived keys", () => {
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

  test("are 32 bytes, the same for one purpose, others for another purpose, token or process", async () => {
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

  test("change with the token, and only with the token", () =>
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

  test("do not depend on the token alone", () =>
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
