// Answers questions of the application with the client of AG-UI, unmodified.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Message, QuestionInput, QuestionResult } from "../../../../plugins/channels/index.ts";
import {
  createAgent,
  isInstalled,
  loadLibrary,
  run,
  send,
  startAgUi,
  textOf,
  type Agent,
  type Library,
  type RunEvent,
  type Service,
} from "./harness.ts";

const options = [
  { id: "always", label: "Always", effect: "allow", lasting: true },
  { id: "once", label: "Allow once", effect: "allow" },
  { id: "no", label: "Deny", effect: "deny" },
] as const;
const approval: QuestionInput = { kind: "approval", content: "Delete x?", title: "rm x", options };

interface Interrupt {
  readonly id: string;
  readonly reason: string;
  readonly message: string;
  readonly toolCallId?: string;
  readonly responseSchema: { readonly required?: readonly string[] };
}

describe.skipIf(!isInstalled)("questions in AG-UI", () => {
  let service: Service;
  let library: Library;
  let next = 0;
  let results: QuestionResult[] = [];
  beforeAll(async () => {
    library = await loadLibrary();
    service = await startAgUi();
  });
  afterAll(() => service[Symbol.asyncDispose]());

  const ask = (...questions: readonly QuestionInput[]) => {
    results = [];
    service.state.handler = async (message: Message) => {
      await message.reply({ content: "I will look." });
      results = await Promise.all(questions.map((question) => message.ask(question)));
      const said = results.map(({ effect, outcome }) => effect ?? outcome).join();
      await message.reply({ content: `The effect is ${said}.` });
    };
  };
  const start = (): Agent =>
    createAgent(library, { url: service.url, thread: `asking ${(next += 1)}` });
  const openIn = () =>
    service.channels.questions({ channel: "pico", session: `ag_ui/asking ${next}` });
  const outcomeOf = (events: readonly RunEvent[]) =>
    events.at(-1)!["outcome"] as { type: string; interrupts: readonly Interrupt[] };
  const settledIn = (events: readonly RunEvent[]) =>
    events.flatMap((event) => (event["name"] === "doorward.question" ? [event["value"]] : []));
  const resolved = (id: string, payload: object) => ({
    resume: [{ interruptId: id, status: "resolved", payload }],
  });

  test.each([
    [{ approved: true }, "allow", "once"],
    [{ approved: false, reason: "no" }, "deny", "no"],
    [{ approved: true, option: "always" }, "allow", "always"],
    [{ approved: false, option: "always" }, "deny", "no"],
  ])("interrupts the run, and resumes it with %j", async (payload, effect, option) => {
    ask(approval);
    const agent = start();
    const { events } = await send(agent);
    const { type, interrupts } = outcomeOf(events);
    expect(type).toBe("interrupt");
    expect(interrupts).toMatchObject([{ reason: "confirmation", message: "Delete x?" }]);
    expect(interrupts[0]!.responseSchema.required).toEqual(["approved"]);
    const resumed = await run(agent, resolved(interrupts[0]!.id, payload));
    expect(resumed.failure).toBeUndefined();
    expect(outcomeOf(resumed.events).type).toBe("success");
    expect(textOf(agent)).toBe(`The effect is ${effect}.`);
    expect(results).toMatchObject([{ option, via: "ag_ui" }]);
    expect(settledIn(resumed.events)).toMatchObject([{ settled: { option } }]);
  });

  test("names the tool call, and sends its result after the answer", async () => {
    const call = { id: "call_1", name: "bash", arguments: '{"command":"rm x"}' };
    service.state.handler = async ({ reply, ask: put }) => {
      const toolCalls = { content: "", kind: "tool_calls" as const };
      await reply({ ...toolCalls, toolCalls: [call] });
      await put({ ...approval, toolCallId: "call_1" });
      await reply({ ...toolCalls, toolCalls: [{ ...call, result: "removed" }] });
    };
    const agent = start();
    const { events } = await send(agent);
    const [interrupt] = outcomeOf(events).interrupts;
    const shown = events.find(({ type }) => type === "TOOL_CALL_START");
    const { toolCallId } = shown as unknown as { readonly toolCallId: string };
    expect(toolCallId).toMatch(/^call_[0-9a-f]{24}$/);
    expect(interrupt).toMatchObject({ reason: "tool_call", toolCallId });
    const resumed = await run(agent, resolved(interrupt!.id, { approved: true }));
    expect(resumed.failure).toBeUndefined();
    expect(textOf(agent, "tool")).toBe("removed");
  });

  test("clears an interrupt that another client has answered", async () => {
    ask(approval);
    const agent = start();
    await send(agent);
    const [open] = openIn();
    await service.channels.answer(open!, open!.id, { option: "no" }, { id: "ann" }, "dashboard");
    const resumed = await run(agent, resolved(open!.id, { approved: true }));
    expect(resumed.failure).toBeUndefined();
    expect(textOf(agent)).toBe("The effect is deny.");
    expect(settledIn(resumed.events)).toMatchObject([{ settled: { by: { id: "ann" } } }]);
    expect((await send(agent, "and?", {})).failure).toBeUndefined();
  });

  test("asks several questions together, and dismisses a cancelled one", async () => {
    ask(approval, { kind: "choice", content: "Which?", options: [{ id: "a", label: "A" }] });
    const agent = start();
    const { interrupts } = outcomeOf((await send(agent)).events);
    expect(interrupts.map(({ reason }) => reason)).toEqual(["confirmation", "input_required"]);
    const resume = [
      { interruptId: interrupts[0]!.id, status: "cancelled" },
      { interruptId: interrupts[1]!.id, status: "resolved", payload: { option: "a" } },
    ];
    await run(agent, { resume });
    expect(results).toMatchObject([{ outcome: "dismissed" }, { option: "a" }]);
  });

  test("interrupts again after an answer that is not valid", async () => {
    ask({ ...approval, options: [options[0]] });
    const agent = start();
    const [first] = outcomeOf((await send(agent)).events).interrupts;
    const again = await run(agent, resolved(first!.id, { approved: true }));
    expect(outcomeOf(again.events)).toMatchObject({ type: "interrupt", interrupts: [first] });
    await run(agent, resolved(first!.id, { approved: false }));
    expect(textOf(agent)).toBe("The effect is deny.");
  });

  test("joins the run if the same answer is sent again", async () => {
    ask(approval);
    const agent = start();
    const [interrupt] = outcomeOf((await send(agent)).events).interrupts;
    await run(agent, resolved(interrupt!.id, { approved: true }));
    const { failure, events } = await run(agent, resolved(interrupt!.id, { approved: true }));
    expect(failure).toBeUndefined();
    expect(outcomeOf(events).type).toBe("success");
    expect(results).toHaveLength(1);
  });

  test("takes the question of another thread for an unknown one", async () => {
    ask(approval);
    await send(start());
    const [open] = openIn();
    const other = start();
    for (const id of [open!.id, "f".repeat(32)]) {
      const { failure, events } = await run(other, resolved(id, { approved: true }));
      expect(failure).toBeUndefined();
      expect(outcomeOf(events).type).toBe("success");
      expect(settledIn(events)).toEqual([{ id, settled: null }]);
    }
    const { channel, session } = open!;
    expect(service.channels.questions({ channel, session })).toHaveLength(1);
  });
});
