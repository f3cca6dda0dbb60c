// Ends agents of both packages while a handler waits for the answer to a question.
import { describe, expect, test } from "vitest";
import type { QuestionSettlement } from "../../../plugins/channels/index.ts";
import { python, startAgentProgram, type Language } from "../../support/agent-programs.ts";
import { isAlive, waitFor, type SeenMessage } from "../../support/program-harness.ts";
import { isBrief } from "../../support/runs.ts";

/** Agents that ask, and say what they have read. */
const asks = {
  "a coroutine of Python": [
    "python",
    `
from doorward import agent

@agent
async def reply(message, answer):
    if message.answer:
        return f"{message.answer.key} {message.answer.allowed}"
    answer.write("Let me ask.")
    if message.content == "later":
        answer.ask_later("deploy", "Deploy?")
    return f"asked: {await answer.allow('Delete?')}"
`,
  ],
  "a function of Python": [
    "python",
    `
from doorward import agent

@agent
def reply(message, answer):
    if message.answer:
        return f"{message.answer.key} {message.answer.allowed}"
    answer.write("Let me ask.")
    if message.content == "later":
        answer.ask_later("deploy", "Deploy?")
    return f"asked: {answer.allow('Delete?')}"
`,
  ],
  "a generator of Node": [
    "js",
    `
import { agent } from "doorward/agent";

agent(async function* (message, answer) {
  if (message.answer) return yield message.answer.key + " " + message.answer.allowed;
  yield "Let me ask.";
  if (message.content === "later") await answer.askLater("deploy", "Deploy?");
  yield "asked: " + (await answer.allow("Delete?"));
});
`,
  ],
} as const satisfies Readonly<Record<string, readonly [Language, string]>>;

type Shown = { readonly question?: { readonly settled?: QuestionSettlement } };

/** Starts the agent, and waits until it has asked. */
async function startAsking(kind: keyof typeof asks, content: string) {
  const [language, code] = asks[kind];
  const running = await startAgentProgram(language, code);
  const { channels } = running.kernel.services;
  await running.say(content);
  await waitFor(() => channels.questions().some((question) => question.content === "Delete?"));
  return running;
}

type Running = Awaited<ReturnType<typeof startAgentProgram>>;

/** @returns How the question was settled, as a channel sees it. */
const settledOf = async ({ seen }: Running): Promise<unknown> => {
  const isSettled = ({ message }: SeenMessage): boolean =>
    (message as Shown | undefined)?.question?.settled !== undefined;
  return ((await seen.next("a settled question", isSettled)).message as Shown).question?.settled;
};

const all = Object.keys(asks) as (keyof typeof asks)[];
const kinds = isBrief ? all.filter((kind) => !kind.startsWith("a function")) : all;

/** Ways in which a program ends while its handler waits, and the code of the answer. */
const ways: Readonly<Record<string, (running: Running) => unknown>> = {
  "a SIGTERM": ({ status }) => process.kill(status().pid!, "SIGTERM"),
  ...(!isBrief && {
    "a restart by the owner": ({ kernel }) => kernel.services.program.restart(),
  }),
};

describe.skipIf(!python)("waiting agent", () => {
  test.each(kinds.flatMap((kind) => Object.keys(ways).map((way) => [kind, way] as const)))(
    "ends with its question lost: %s, %s",
    async (kind, way) => {
      await using running = await startAsking(kind, "now");
      const { pid } = running.status();
      ways[way]!(running);
      const { end } = await running.ends.next("an end");
      expect(end).toMatchObject({ outcome: "failed", code: "application_ended" });
      expect(isAlive(pid!)).toBe(false);
      expect(await settledOf(running)).toMatchObject({ outcome: "lost" });
      expect(running.kernel.services.channels.questions()).toEqual([]);
    },
  );

  test.skipIf(isBrief).each(kinds)("loses its question with the kernel: %s", async (kind) => {
    await using running = await startAsking(kind, "now");
    await running.kernel.stop({ timeoutMs: 2_000 });
    expect(await settledOf(running)).toMatchObject({ outcome: "lost" });
  });

  test.each(kinds)("keeps a durable question, which the next one gets: %s", async (kind) => {
    await using running = await startAsking(kind, "later");
    const { channels } = running.kernel.services;
    process.kill(running.status().pid!, "SIGTERM");
    await running.ends.next("an end");
    const [open, ...others] = channels.questions();
    expect(others).toEqual([]);
    const address = { channel: "sample", session: "s" };
    await channels.answer(address, open!.id, { option: "allow" }, { id: "owner" }, "dashboard");
    const isSaid = ({ message }: SeenMessage): boolean =>
      message?.content.toLowerCase() === "deploy true";
    await running.seen.next("the answer of the next process", isSaid);
  });
});
