// Cases about interrupted runs, and several agents of one thread.
import { expect } from "vitest";
import { echo, run, send, textOf } from "./harness.ts";
import type { Case, Context } from "./reply-cases.ts";

/** Sends a message, and waits for the begin of its reply. */
async function begin({ agent, service, control }: Context) {
  const before = service.received.length;
  const created = agent();
  const ended = send(created);
  await expect.poll(() => service.received.length).toBe(before + 1);
  control.write("Hello");
  await expect.poll(() => textOf(created)).toBe("Hello");
  return { created, ended };
}

export const joinCases: readonly Case[] = [
  [
    "joins its run after an abort, which does not stop it",
    "growing",
    async (context) => {
      const { created, ended } = await begin(context);
      created.abortRun();
      await ended;
      context.control.write(" there");
      const joined = run(created);
      await expect.poll(() => textOf(created)).toBe("Hello there");
      context.control.write("!");
      context.control.end();
      const { events, failure } = await joined;
      expect([textOf(created), failure]).toEqual(["Hello there!", undefined]);
      expect(events.at(-1)).toMatchObject({ outcome: { type: "success" } });
      expect(created.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    },
  ],
  [
    "receives equal bytes over eight lost connections",
    "growing",
    async (context) => {
      const { created, ended } = await begin(context);
      let current: Promise<unknown> = ended;
      let text = "Hello";
      for (let step = 1; step <= 400; step += 1) {
        const delta = step % 7 === 0 ? "😀é\n" : `<${step}>`;
        context.control.write(delta);
        text += delta;
        if (step % 50 !== 0) continue;
        const { length } = String(textOf(created));
        await expect.poll(() => String(textOf(created)).length).toBeGreaterThan(length);
        created.abortRun();
        await current;
        current = run(created);
      }
      context.control.end();
      await current;
      expect(textOf(created)).toBe(text);
      expect(created.messages).toHaveLength(2);
    },
  ],
  [
    "receives the whole text of a run that ended without it",
    "growing",
    async (context) => {
      const { created, ended } = await begin(context);
      created.abortRun();
      await ended;
      context.control.write(" there");
      context.control.end();
      await run(created);
      expect(textOf(created)).toBe("Hello there");
      expect(created.messages).toHaveLength(2);
    },
  ],
  [
    "joins the run in progress without a message of its own",
    "growing",
    async (context) => {
      const { created, ended } = await begin(context);
      const other = context.agent();
      const joined = run(other);
      await expect.poll(() => textOf(other)).toBe("Hello");
      context.control.write("!");
      context.control.end();
      await Promise.all([ended, joined]);
      expect([textOf(created), textOf(other)]).toEqual(["Hello!", "Hello!"]);
    },
  ],
  [
    "takes its turn after another agent of the thread",
    echo,
    async ({ agent, service }) => {
      const before = service.received.length;
      const agents = [agent(), agent()];
      await Promise.all(agents.map((each, index) => send(each, `from ${index}`)));
      expect(agents.map((each) => textOf(each))).toEqual(["you said from 0", "you said from 1"]);
      expect(service.received.length).toBe(before + 2);
    },
  ],
];
