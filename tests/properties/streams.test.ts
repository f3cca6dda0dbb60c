import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withKernel } from "../../kernel/testing.ts";
import { channels } from "../../plugins/channels/index.ts";
import { channelsErrors } from "../../plugins/channels/errors.ts";
import { createSampleChannel } from "../support/sample-channel.ts";
import { turn } from "../support/sample-plugins.ts";
import { runs } from "../support/runs.ts";

const step = fc.record({
  text: fc.string({ maxLength: 5 }),
  /** Milliseconds before this part. */
  after: fc.oneof(fc.nat(30), fc.nat(400)),
  /** Whether a client is connected from here on. */
  heard: fc.boolean(),
});
interface Shown {
  readonly what: "create" | "update";
  readonly at: number;
  readonly text: string;
  readonly final: boolean;
}

describe("streamed replies", () => {
  test("send one create, few growing updates and the full text", () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60 }), async (steps) => {
        const shown: Shown[] = [];
        let heard = true;
        let now = (): number => 0;
        const show = (what: Shown["what"], text: string, final: boolean): void => {
          if (!heard) throw channelsErrors.undeliverable("sample");
          shown.push({ what, at: now(), text, final });
        };
        const { plugin } = createSampleChannel({
          send: (_, id, { content }) => (show("create", content, false), { id, status: "written" }),
          update: (_, id, m) => (
            show("update", m.content, m.final ?? false),
            { id, status: "written" }
          ),
        });
        await withKernel([channels(), plugin], async ({ kernel: { services }, clock }) => {
          now = () => clock.now();
          const answer = services.channels.stream({ channel: "sample", session: "s" });
          for (const part of steps) {
            for (let ms = 0; ms < part.after; ms += 10) {
              clock.increment(Math.min(10, part.after - ms));
              await turn();
            }
            heard = part.heard;
            answer.write(part.text);
            await turn();
          }
          heard = true;
          await answer.end();
        });

        const whole = steps.map(({ text }) => text).join("");
        const updates = shown.filter(({ what }) => what === "update");
        expect(shown.filter(({ what }) => what === "create")).toHaveLength(1);
        expect(shown[0]!.what).toBe("create");
        expect(shown.at(-1)!.text).toBe(whole);
        expect(updates.map(({ final }) => final)).toEqual(
          updates.map((_, at) => at === updates.length - 1),
        );
        for (const [at, { text, final }] of shown.entries()) {
          expect(whole.startsWith(text)).toBe(true);
          if (at > 0 && !final) expect(text.length).toBeGreaterThan(shown[at - 1]!.text.length);
        }
        for (const { at } of updates) {
          expect(
            updates.filter((other) => other.at >= at && other.at < at + 1_000).length,
          ).toBeLessThanOrEqual(10);
        }
      }),
      { numRuns: runs(40) },
    ));
});
