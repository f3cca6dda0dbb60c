import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { codeOf, createKernel } from "../../kernel/index.ts";
import { withKernel } from "../../kernel/testing.ts";
import { application, channels, type Application } from "../../plugins/channels/index.ts";
import { createSampleChannel } from "../support/sample-channel.ts";
import { runs } from "../support/runs.ts";

const job = fc.record({
  session: fc.constantFrom("a", "b", "c"),
  /** Turns of the event loop that the application needs. */
  turns: fc.nat(4),
  ends: fc.constantFrom("resolves", "throws", "accepts first", "accepts, then throws"),
  dedupe: fc.boolean(),
});
type Job = typeof job extends fc.Arbitrary<infer T> ? T : never;

const worker =
  (jobs: readonly Job[], log: string[]): Application =>
  async (message) => {
    const { session, turns, ends } = jobs[Number(message.content)]!;
    log.push(`begin ${session} ${message.content}`);
    if (ends.startsWith("accepts")) message.accept();
    for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
    log.push(`end ${session} ${message.content}`);
    if (ends.endsWith("throws")) throw new Error("no");
  };

describe("message delivery", () => {
  test("runs each session in order and settles each delivery once", () =>
    fc.assert(
      fc.asyncProperty(fc.array(job, { maxLength: 30 }), async (jobs) => {
        const log: string[] = [];
        const { plugin, inlet, message } = createSampleChannel();
        await withKernel([channels(), plugin, application(worker(jobs, log))], async () => {
          const outcomes = await Promise.allSettled(
            jobs.map(({ session, dedupe }, n) =>
              inlet().deliver(message({ session, content: `${n}` }), { dedupe }),
            ),
          );
          const expected = jobs.map(({ ends }) => (ends === "throws" ? "rejected" : "fulfilled"));
          expect(outcomes.map(({ status }) => status)).toEqual(expected);
          while (log.length < 2 * jobs.length) await new Promise(setImmediate);
          for (const name of ["a", "b", "c"]) {
            const own = jobs.flatMap(({ session }, n) => (session === name ? [n] : []));
            const begins = own.map((n) => log.indexOf(`begin ${name} ${n}`));
            expect(begins).toEqual([...begins].sort((one, other) => one - other));
            // A message frees its session when it is accepted or ends, whichever is first.
            for (const [index, n] of own.slice(0, -1).entries())
              if (!jobs[n]!.ends.startsWith("accepts"))
                expect(log.indexOf(`end ${name} ${n}`)).toBeLessThan(begins[index + 1]!);
          }
        });
      }),
      { numRuns: runs(60) },
    ));

  test("settles every delivery at a stop", () =>
    fc.assert(
      fc.asyncProperty(fc.array(job, { maxLength: 15 }), fc.nat(8), async (jobs, moment) => {
        const { plugin, inlet, message } = createSampleChannel();
        const kernel = createKernel([channels(), plugin, application(worker(jobs, []))], {
          log: silent,
        });
        await kernel.start();
        const all = Promise.allSettled(
          jobs.map(({ session, dedupe }, n) =>
            inlet().deliver(message({ session, content: `${n}` }), { dedupe }),
          ),
        );
        for (let turn = 0; turn < moment; turn += 1) await new Promise(setImmediate);
        await kernel.stop();
        for (const one of await all) {
          if (one.status === "rejected")
            expect(["not_running", "internal"]).toContain(codeOf(one.reason));
        }
      }),
      { numRuns: runs(60) },
    ));
});

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
