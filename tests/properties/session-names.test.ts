// Sessions of channels of other authors, whose names may contain any characters.
import fc from "fast-check";
import { expect, test } from "vitest";
import { withKernel } from "../../kernel/testing.ts";
import { application, channels, type Message } from "../../plugins/channels/index.ts";
import { runs } from "../support/runs.ts";
import { createSampleChannel } from "../support/sample-channel.ts";

const separator = fc.constantFrom("\0", "\n", " ", ":", "/");
const part = fc.string({ unit: fc.constantFrom("a", "1", "2"), minLength: 1, maxLength: 2 });

/** Two places in one text of parts: the session is before the place, the id follows it. */
const twoSplits = fc
  .tuple(separator, fc.array(part, { minLength: 3, maxLength: 4 }), fc.nat(2), fc.nat(2))
  .map(([join, parts, one, other]) => {
    const at = (place: number): { readonly session: string; readonly id: string } => {
      const end = 1 + (place % (parts.length - 1));
      return { session: parts.slice(0, end).join(join), id: parts.slice(end).join(join) };
    };
    return [at(one), at(other)] as const;
  })
  .filter(([one, other]) => one.session !== other.session);

const approval = {
  kind: "approval",
  content: "Continue?",
  title: "Continue?",
  options: [{ id: "yes", label: "Yes", effect: "allow" }],
} as const;

test("sessions share nothing, whatever characters their names contain", () =>
  fc.assert(
    fc.asyncProperty(twoSplits, async ([one, other]) => {
      const channel = createSampleChannel({
        keeps: false,
        update: (_, id) => ({ id, status: "written" }),
      });
      const open = new Map<string, Message>();
      const results: string[] = [];
      const handler = async (message: Message): Promise<void> => {
        open.set(message.session, message);
        const { outcome } = await message.ask(approval);
        results.push(`${message.session} ${outcome}`);
      };
      await withKernel([channels(), channel.plugin, application(handler)], async ({ kernel }) => {
        const calls = kernel.services.channels;
        const release = calls.recordTimes();
        const deliver = ({ session, id }: typeof one): Promise<unknown> =>
          channel.inlet().deliver(channel.message({ session, id }), { dedupe: true });
        const delivered = [deliver(one), deliver(other)];
        await new Promise(setImmediate);
        expect([...open.keys()].toSorted()).toEqual([one.session, other.session].toSorted());

        for (const { session } of [one, other]) {
          const asked = calls.questions({ channel: "sample", session });
          expect(asked).toMatchObject([{ session }]);
          expect(calls.findQuestion(asked[0]!.id)).toEqual({ channel: "sample", session });
        }
        await open.get(one.session)!.reply({ content: "hello" });
        const parts = new Map(calls.times().map((times) => [times.session, times.parts]));
        expect(parts.get(one.session)?.some(({ kind }) => kind === "text")).toBe(true);
        expect(parts.get(other.session)?.length).toBe(1);

        const to = { channel: "sample", session: one.session };
        const [question] = calls.questions(to);
        await calls.answer(to, question!.id, { option: "yes" }, undefined, "host");
        await delivered[0];
        const answered = `${one.session} answered`;
        await expect.poll(() => results, { interval: 1 }).toEqual([answered]);
        expect(calls.questions({ channel: "sample" })).toMatchObject([{ session: other.session }]);
        await channel.inlet().stop(other.session);
        await Promise.allSettled(delivered);
        const stopped = `${other.session} stopped`;
        await expect.poll(() => results, { interval: 1 }).toEqual([answered, stopped]);
        release();
      });
    }),
    { numRuns: runs(120) },
  ));
