// Answers questions of the application with the chats of the AI SDK, unmodified.
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Message, QuestionInput, QuestionResult } from "../../../../plugins/channels/index.ts";
import { createFolder } from "../../../support/sqlite-store.ts";
import {
  authorization,
  createChat,
  isInstalled,
  loadLibrary,
  partsOf,
  startAiSdk,
  textOf,
  versions,
  type Chat,
  type Library,
  type Service,
  type UiMessage,
  type UiPart,
} from "./harness.ts";

const options = [
  { id: "always", label: "Always", effect: "allow", lasting: true },
  { id: "once", label: "Allow once", effect: "allow" },
  { id: "no", label: "Deny", effect: "deny" },
] as const;
const approval: QuestionInput = { kind: "approval", content: "Delete x?", title: "rm x", options };

describe.skipIf(!isInstalled).each(versions)("questions in the AI SDK %s", (version) => {
  let service: Service;
  let library: Library;
  let next = 0;
  let results: QuestionResult[] = [];
  beforeAll(async () => {
    library = await loadLibrary(version);
    service = await startAiSdk();
  });
  afterAll(() => service[Symbol.asyncDispose]());

  /** The application looks, asks each question, and says the outcomes. */
  const ask = (...questions: readonly QuestionInput[]) => {
    results = [];
    service.state.handler = async (message: Message) => {
      await message.reply({ content: "I will look." });
      results = await Promise.all(questions.map((question) => message.ask(question)));
      const said = results.map(({ effect, outcome }) => effect ?? outcome).join();
      await message.reply({ content: `The effect is ${said}.` });
    };
  };
  const start = (messages: readonly UiMessage[] = [], more: object = {}): Chat => {
    const { lastAssistantMessageIsCompleteWithApprovalResponses: whenAnswered } = library;
    const id = `questions ${version}/${(next += messages.length > 0 ? 0 : 1)}`;
    const automatic = { sendAutomaticallyWhen: whenAnswered };
    return createChat(library, { id, base: service.base, messages, ...automatic, ...more });
  };
  const cardOf = (chat: Chat): UiPart => partsOf(chat).find(({ type }) => type === "dynamic-tool")!;
  const isDone = (chat: Chat, effect: string) =>
    vi.waitFor(() => {
      expect(chat.error).toBeUndefined();
      expect(textOf(chat)).toBe(`I will look.The effect is ${effect}.`);
      expect(chat.status).toBe("ready");
    });
  const session = (): string => `ai_sdk/questions ${version}/${next}`;
  const openIn = () => service.channels.questions({ channel: "pico", session: session() });

  test.each([
    [true, "allow", "output-available", "once"],
    [false, "deny", "output-denied", "no"],
  ])("sends the answer %j, and shows the rest", async (approved, effect, state, option) => {
    ask(approval);
    const chat = start();
    await chat.sendMessage({ text: "delete x" });
    const card = cardOf(chat);
    expect(card).toMatchObject({ state: "approval-requested", title: "rm x" });
    expect(card.input).toMatchObject({ content: "Delete x?" });
    await chat.addToolApprovalResponse({ id: card.approval!.id, approved, reason: "ok" });
    await isDone(chat, effect);
    expect(cardOf(chat).state).toBe(state);
    expect(chat.messages).toHaveLength(2);
    expect(results).toMatchObject([{ option, via: "ai_sdk", text: "ok" }]);
  });

  test("shows the result of the call behind a question", async () => {
    const call = { id: "call_1", name: "bash", arguments: '{"command":"rm x"}' };
    service.state.handler = async ({ reply, ask: put }) => {
      const toolCalls = { content: "", kind: "tool_calls" as const };
      await reply({ ...toolCalls, toolCalls: [call] });
      await put({ ...approval, toolCallId: "call_1" });
      await reply({ ...toolCalls, toolCalls: [{ ...call, result: "removed" }] });
    };
    const chat = start();
    await chat.sendMessage({ text: "delete x" });
    expect(cardOf(chat)).toMatchObject({ toolName: "bash", input: { command: "rm x" } });
    const { id } = cardOf(chat).approval!;
    await chat.addToolApprovalResponse({ id, approved: true });
    await vi.waitFor(() => expect(cardOf(chat).output).toBe("removed"));
    expect(partsOf(chat).filter(({ type }) => type === "dynamic-tool")).toHaveLength(1);
  });

  test("says who answered before the page", async () => {
    ask(approval);
    const chat = start();
    await chat.sendMessage({ text: "delete x" });
    const [open] = openIn();
    await service.channels.answer(open!, open!.id, { option: "no" }, { id: "ann" }, "dashboard");
    await chat.addToolApprovalResponse({ id: open!.id, approved: true });
    await isDone(chat, "deny");
    expect(cardOf(chat).state).toBe("output-denied");
    const { data } = partsOf(chat).find(({ type }) => type === "data-doorward-question")!;
    expect(data).toMatchObject({ settled: { option: "no", by: { id: "ann" } } });
  });

  test("waits for the answers to all questions", async () => {
    ask(approval, approval);
    const chat = start();
    await chat.sendMessage({ text: "delete x" });
    const cards = partsOf(chat).filter(({ type }) => type === "dynamic-tool");
    expect(cards).toHaveLength(2);
    for (const [index, card] of cards.entries())
      await chat.addToolApprovalResponse({ id: card.approval!.id, approved: index === 0 });
    await isDone(chat, "allow,deny");
  });

  test("answers from a page that was reloaded", async () => {
    const memory = service;
    service = await startAiSdk({ home: createFolder() });
    onTestFinished(async () => {
      await service[Symbol.asyncDispose]();
      service = memory;
    });
    ask(approval);
    await start().sendMessage({ text: "delete x" });
    const address = `${service.base}/chat/${encodeURIComponent(session().slice(7))}/messages`;
    const response = await fetch(address, { headers: authorization });
    const { messages } = (await response.json()) as { messages: UiMessage[] };
    const chat = start(messages);
    expect(cardOf(chat)).toMatchObject({ state: "approval-requested", title: "rm x" });
    await chat.addToolApprovalResponse({ id: cardOf(chat).approval!.id, approved: true });
    await isDone(chat, "allow");
  });

  test("ends a resumed stream at the question", async () => {
    ask(approval);
    const first = start();
    await first.sendMessage({ text: "delete x" });
    const chat = start(first.messages.slice(0, 1));
    await chat.resumeStream();
    expect(textOf(chat)).toBe("I will look.");
    await chat.addToolApprovalResponse({ id: cardOf(chat).approval!.id, approved: true });
    await isDone(chat, "allow");
  });

  test("opens the card again if the answer is not valid", async () => {
    ask({ ...approval, options: [options[0]] });
    const chat = start();
    await chat.sendMessage({ text: "delete x" });
    const { id } = cardOf(chat).approval!;
    await chat.addToolApprovalResponse({ id, approved: true });
    await vi.waitFor(() => expect(cardOf(chat).state).toBe("approval-requested"));
    await vi.waitFor(() => expect(chat.status).toBe("ready"));
    await chat.addToolApprovalResponse({ id, approved: false });
    await isDone(chat, "deny");
  });

  test("closes the card of an unknown question without an error", async () => {
    ask(approval);
    const other = start();
    await other.sendMessage({ text: "delete x" });
    const [, asked] = other.messages;
    const [open] = openIn();
    const chat = start();
    chat.messages = [...other.messages.slice(0, 1), asked!];
    await chat.addToolApprovalResponse({ id: open!.id, approved: true });
    await vi.waitFor(() => expect(cardOf(chat).state).toBe("output-denied"));
    expect(chat.error).toBeUndefined();
    const { channel, session: home } = open!;
    expect(service.channels.questions({ channel, session: home })).toHaveLength(1);
  });

  test("shows a choice and a form as tools", async () => {
    const schema = { type: "object", properties: { name: { type: "string" } } } as const;
    ask(
      { kind: "choice", content: "Which?", options: [{ id: "a", label: "A" }] },
      { kind: "form", content: "Who?", schema },
    );
    const { lastAssistantMessageIsCompleteWithToolCalls: sendAutomaticallyWhen } = library;
    const chat = start([], { sendAutomaticallyWhen });
    await chat.sendMessage({ text: "go" });
    const cards = partsOf(chat).filter(({ toolName }) => toolName === "doorward_ask");
    expect(cards.map(({ state }) => state)).toEqual(["input-available", "input-available"]);
    for (const { toolCallId, input } of cards) {
      const isForm = (input as { kind: string }).kind === "form";
      const output = isForm ? { name: "Ann" } : "a";
      await chat.addToolOutput({ tool: "doorward_ask", toolCallId, output });
    }
    await isDone(chat, "answered,answered");
    expect(results).toMatchObject([{ option: "a" }, { values: { name: "Ann" } }]);
  });
});

describe.skipIf(!isInstalled).each(versions)("open stream in the AI SDK %s", (version) => {
  test.each([
    ["once", "allow", "output-available"],
    ["no", "deny", "output-denied"],
  ])("settles the card with the option %s", async (option, effect, state) => {
    await using service = await startAiSdk({ aiSdkConfig: { questions: "stream" } });
    service.state.handler = async (message: Message) => {
      const { effect: said } = await message.ask(approval);
      await message.reply({ content: `The effect is ${said}.` });
    };
    const library = await loadLibrary(version);
    const chat = createChat(library, { id: "open", base: service.base });
    const sent = chat.sendMessage({ text: "delete x" });
    const card = () => partsOf(chat).find(({ type }) => type === "dynamic-tool");
    await vi.waitFor(() => expect(card()?.state).toBe("approval-requested"));
    const response = await answerOpen(service, "open", {
      message_id: card()!.approval!.id,
      option,
    });
    expect(response).toMatchObject({ status: 200, body: { status: "settled" } });
    await sent;
    expect(chat.error).toBeUndefined();
    expect(card()!.state).toBe(state);
    expect(textOf(chat)).toBe(`The effect is ${effect}.`);
  });
});

/** Answers as a page does whose stream is open. */
async function answerOpen({ base }: Service, chat: string, answer: object) {
  const response = await fetch(`${base}/chat/${chat}/answer`, {
    method: "POST",
    headers: { ...authorization, "content-type": "application/json" },
    body: JSON.stringify(answer),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe("POST /ai/chat/ID/answer", () => {
  test("keeps the stream open, and settles once", async () => {
    await using service = await startAiSdk({ aiSdkConfig: { questions: "stream" } });
    service.state.handler = async (message: Message) => {
      const { text } = await message.ask({ ...approval, kind: "approval" });
      await message.reply({ content: `because ${text}` });
    };
    const response = await fetch(`${service.base}/chat`, {
      method: "POST",
      headers: { ...authorization, "content-type": "application/json" },
      body: JSON.stringify({
        id: "raw",
        messages: [{ id: "1", role: "user", parts: [{ type: "text", text: "delete x" }] }],
      }),
    });
    let stream = "";
    const read = (async () => {
      for await (const text of response.body!.pipeThrough(new TextDecoderStream())) stream += text;
    })();
    const open = await vi.waitFor(() => {
      expect(stream).toContain("tool-approval-request");
      return service.channels.questions()[0]!;
    });
    const answer = { message_id: open.id, option: "no", text: "of x" };
    const wrong = [
      [{ option: "no" }, 400, "missing_required_parameter"],
      [{ message_id: open.id, options: "no" }, 400, "invalid_type"],
      [{ message_id: open.id, option: "perhaps" }, 422, "invalid_answer"],
      [{ ...answer, message_id: "x" }, 404, "unknown_question"],
    ] as const;
    for (const [body, status, error] of wrong)
      await expect(answerOpen(service, "raw", body)).resolves.toMatchObject({
        status,
        body: { error },
      });
    await expect(answerOpen(service, "other", answer)).resolves.toMatchObject({ status: 404 });
    const both = await Promise.all([
      answerOpen(service, "raw", answer),
      answerOpen(service, "raw", { ...answer, option: "once" }),
    ]);
    expect(both).toMatchObject([
      { status: 200, body: { settled: { option: "no", via: "ai_sdk" } } },
      { status: 409, body: { error: "already_settled", settled: { option: "no" } } },
    ]);
    await read;
    expect(stream).toContain("tool-output-denied");
    expect(stream).toContain("because of x");
    expect(stream).not.toContain("tool-approval-response");
  });

  test("resumes a stream that stays open", async () => {
    await using service = await startAiSdk({ aiSdkConfig: { questions: "stream" } });
    service.state.handler = async (message: Message) => {
      const { effect } = await message.ask(approval);
      await message.reply({ content: `The effect is ${effect}.` });
    };
    const leaving = new AbortController();
    const first = await fetch(`${service.base}/chat`, {
      method: "POST",
      headers: { ...authorization, "content-type": "application/json" },
      body: JSON.stringify({
        id: "again",
        messages: [{ id: "1", role: "user", parts: [{ type: "text", text: "delete x" }] }],
      }),
      signal: leaving.signal,
    });
    const [open] = await vi.waitFor(() => {
      const questions = service.channels.questions();
      expect(questions).toHaveLength(1);
      return questions;
    });
    leaving.abort();
    await first.text().catch(() => undefined);
    const resumed = await fetch(`${service.base}/chat/again/stream`, { headers: authorization });
    await answerOpen(service, "again", { message_id: open!.id, option: "once" });
    const text = await resumed.text();
    expect(text).toContain("tool-approval-request");
    expect(text).toContain("The effect is allow.");
  });
});
