import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LauncherCommand, LauncherState, Plugin } from "../../kernel/index.ts";
import { withKernel, createStoppedClock } from "../../kernel/testing.ts";
import { createLauncher } from "../support/sample-plugins.ts";
import {
  memory,
  tokenStore,
  type TokenBackend,
  type TokenSecrets,
  type Tokens,
} from "../../plugins/token-store/index.ts";
import { runs } from "../support/runs.ts";

const states: readonly LauncherState[] = ["unconfigured", "setup", "running", "rotating"];
const command = fc.oneof(
  fc.constantFrom<LauncherCommand>(
    "accept-credentials",
    "begin-setup",
    "finish-setup",
    "begin-rotation",
    "finish-rotation",
    "abandon-rotation",
  ),
  fc.string() as fc.Arbitrary<LauncherCommand>,
);

describe("launcher states", () => {
  test("stays in its four states and runs only with a token", () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 40 }), (commands) => {
        const clock = createStoppedClock();
        const launcher = createLauncher(clock);
        let from = launcher.state();
        for (const each of commands) {
          const accepted = launcher.send(each);
          clock.increment(60_000);
          const to = launcher.state();
          expect(states).toContain(to);
          expect(accepted).toBe(from !== to);
          if (to === "running" && from === "unconfigured") expect(each).toBe("accept-credentials");
          from = to;
        }
      }),
      { numRuns: runs(300) },
    );
  });

  const value = fc.oneof(
    fc.constantFrom("", "  ", "short", "a token of one's own", "correct-horse-battery"),
    fc.string(),
    fc.stringMatching(/^[!-~]{16,40}$/),
  );
  const step = fc.oneof(
    fc.record({
      kind: fc.constant("replace" as const),
      value: fc.option(value, { nil: undefined }),
      stale: fc.boolean(),
      fails: fc.boolean(),
    }),
    fc.record({ kind: fc.constant("keep" as const), stale: fc.boolean(), fails: fc.boolean() }),
    fc.record({ kind: fc.constant("two in parallel" as const), value, fails: fc.boolean() }),
  );

  const steps = fc.array(step, { maxLength: 8 });

  test("runs only while the token store holds a token", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.option(value, { nil: undefined }),
        fc.boolean(),
        steps,
        async (given, generates, asked) => {
          const inner = memory(given === undefined ? {} : { launcher: given });
          let fails = false;
          const form: TokenBackend = {
            ...inner,
            async write(name, token, options) {
              await Promise.resolve();
              if (fails) throw new Error("the disk is full");
              await inner.write(name, token, options);
            },
          };
          let secrets!: TokenSecrets;
          const claims: Plugin<{ needs: { tokens: Tokens; tokenSecrets: TokenSecrets } }> = {
            name: "claims",
            api: 1,
            needs: { tokens: true, tokenSecrets: true },
            async start({ needs }) {
              secrets = needs.tokenSecrets;
              await needs.tokens.claim("launcher", generates ? { generate: true } : {});
            },
          };
          await withKernel([tokenStore(form), claims], async ({ kernel }) => {
            const seen: LauncherState[] = [];
            const check = (): void => {
              const state = kernel.state();
              seen.push(state);
              expect(states).toContain(state);
              expect(state === "unconfigured").toBe(secrets.reveal("launcher") === undefined);
            };
            kernel.on("kernel:state-changed", check);
            kernel.on("token-store:rotated", () =>
              expect(secrets.reveal("launcher")).toBeTypeOf("string"),
            );
            check();
            for (const each of asked) {
              const version =
                kernel.services.tokens.info("launcher").version +
                ("stale" in each && each.stale ? 1 : 0);
              fails = each.fails;
              const before = { state: kernel.state(), token: secrets.reveal("launcher") };
              const own =
                each.kind === "keep" || each.value === undefined ? {} : { value: each.value };
              const change = each.kind === "keep" ? { keep: true as const } : own;
              const attempts = Array.from({ length: each.kind === "two in parallel" ? 2 : 1 }, () =>
                secrets.replace("launcher", { ...change, expect: version }),
              );
              const outcomes = await Promise.allSettled(attempts);
              const won = outcomes.filter(({ status }) => status === "fulfilled").length;
              expect(won).toBeLessThanOrEqual(1);
              if (won === 0)
                expect({ state: kernel.state(), token: secrets.reveal("launcher") }).toEqual(
                  before,
                );
              else expect(kernel.state()).toBe("running");
              check();
            }
            expect(seen).not.toContain("undefined");
          });
        },
      ),
      { numRuns: runs(150) },
    );
  });
});
