// Tests unclaimed and weak tokens, and backends with their own check.
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { codeOf } from "../../../kernel/index.ts";
import { memory } from "../../../plugins/token-store/index.ts";
import { codeFrom, rejection } from "../../support/sample-plugins.ts";
import { withTokens } from "../../support/token-store-harness.ts";

const token = "correct-horse-battery-staple";

describe("Tokens", () => {
  test("rejects unclaimed tokens and second claims", () =>
    withTokens(memory({ pico: token }), { pico: {} }, async ({ tokens, secrets }) => {
      expect(await codeFrom(tokens.claim("pico"))).toBe("token_claimed_twice");
      expect(await codeFrom(tokens.verify("launcher", token))).toBe("token_unclaimed");
      expect(await codeFrom(() => tokens.info("launcher"))).toBe("token_unclaimed");
      expect(await codeFrom(() => tokens.derive("launcher", "cookie"))).toBe("token_unclaimed");
      expect(await codeFrom(() => secrets.reveal("launcher"))).toBe("token_unclaimed");
      expect(await codeFrom(secrets.replace("launcher", { expect: 0 }))).toBe("token_unclaimed");
    }));

  test.each([
    ["short", "fewer than 16 characters"],
    ["ott_0123456789abcdef", "one-time links"],
    ["correct horse battery staple", "token64.<base64url>"],
    ["two-lines-as-openssl\nwrites-them", "line break"],
  ])("accepts a questionable token with a warning: %s", (weak, text) =>
    withTokens(memory({ pico: weak }), { pico: {} }, async ({ tokens, lines }) => {
      expect(await tokens.verify("pico", weak)).toBe(1);
      const [warning] = lines.filter(({ level }) => level === "warn");
      expect(warning?.text).toContain(text);
      expect(JSON.stringify(lines)).not.toContain(weak);
    }),
  );

  test("rejects an exposed token of fewer than 8 characters", async () => {
    const claim = { launcher: { generate: true, exposed: true } } as const;
    const error = await rejection(
      withTokens(memory({ launcher: "1234567" }), claim, () => undefined),
    );
    expect(error.code).toBe("token_too_short");
    expect(error.message).not.toContain("1234567");
    for (const backend of [memory({ launcher: "12345678" }), memory()]) {
      await withTokens(backend, claim, ({ kernel }) =>
        expect(kernel.state()).not.toBe("unconfigured"),
      );
    }
  });
});

describe("TokenBackend.verify", () => {
  const backend = {
    ...memory(),
    verify: (_name: string, candidate: string) => Promise.resolve(candidate === "open sesame"),
  };

  test("receives trimmed candidates instead of a comparison", async () => {
    const candidates: string[] = [];
    const recording = {
      ...backend,
      verify: (name: string, candidate: string) => {
        candidates.push(candidate);
        return backend.verify(name, candidate);
      },
    };
    await withTokens(
      recording,
      { launcher: { generate: true } },
      async ({ tokens, kernel, claimed }) => {
        expect(claimed["launcher"]).toEqual({ version: 1, source: "host", managedByEnv: false });
        expect(kernel.state()).toBe("running");
        expect(await tokens.verify("launcher", " open sesame ")).toBe(1);
        expect(await tokens.verify("launcher", "close sesame")).toBe(false);
        expect(await tokens.verify("launcher", "  ")).toBe(false);
        expect(candidates).toEqual(["open sesame", "close sesame"]);
        expect(tokens.derive("launcher", "cookie")).toHaveLength(32);
      },
    );
  });

  test("hides the message of a thrown error", async () => {
    const broken = {
      ...backend,
      verify: (_: string, candidate: string): never => {
        throw Object.assign(new Error(`no entry for ${candidate}`), { code: "ECONNREFUSED" });
      },
    };
    await withTokens(broken, { launcher: { generate: true } }, async ({ tokens, lines }) => {
      const error = await tokens
        .verify("launcher", "open sesame")
        .catch((thrown: unknown) => thrown as Error);
      expect(codeOf(error)).toBe("store_unavailable");
      expect((error as Error).message).toBe(
        "The token could not be checked: the host's own check failed. Try again in a moment.",
      );
      expect(inspect([error, lines], { depth: 9 })).not.toContain("sesame");
      expect(lines.at(-1)).toMatchObject({
        level: "error",
        name: "launcher",
        code: "ECONNREFUSED",
      });
    });
  });
});
