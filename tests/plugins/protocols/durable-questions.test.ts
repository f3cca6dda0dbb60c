// Answers questions that outlive their answer, and those of other clients, with unmodified clients.
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Message } from "../../../plugins/channels/index.ts";
import { startProtocols, tokens } from "../../support/protocol-service.ts";
import { createFolder } from "../../support/sqlite-store.ts";
import * as agUi from "./ag-ui/harness.ts";
import {
  authorization,
  createChat,
  isInstalled,
  loadLibrary,
  partsOf,
  textOf,
  versions,
  type UiMessage,
} from "./ai-sdk/harness.ts";

const options = [
  { id: "once", label: "Allow once", effect: "allow" },
  { id: "no", label: "Deny", effect: "deny" },
] as const;
const approval = { kind: "approval", content: "Delete x?", title: "rm x", options } as const;

/** Asks, ends its answer, and says the effect when the answer comes. */
const later = async ({ answer, reply, ask }: Message): Promise<void> => {
  if (answer) return void (await reply({ content: `The effect is ${answer.effect}.` }));
  await ask({ ...approval, durable: "plan" });
  await reply({ content: "I will wait." });
};
/** Waits for the answer. */
const blocking = async ({ reply, ask }: Message): Promise<void> => {
  await reply({ content: "I will look." });
  const { effect } = await ask(approval);
  await reply({ content: `The effect is ${effect}.` });
};

async function start(handler = later, more: Parameters<typeof startProtocols>[0] = {}) {
  const service = await startProtocols({ home: createFolder(), ...more });
  service.state.handler = handler;
  onTestFinished(() => service[Symbol.asyncDispose]());
  const open = () => service.channels.questions({ channel: "pico" });
  return { ...service, open };
}
type Service = Awaited<ReturnType<typeof start>>;

async function post({ origin }: Service, path: string, token: string, body: object) {
  const response = await fetch(origin + path, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  return { headers: response.headers, status: response.status, text: await response.text() };
}

describe.skipIf(!isInstalled).each(versions)("durable questions in the AI SDK %s", (version) => {
  const connect = async ({ kernel }: Service, messages: readonly UiMessage[] = []) => {
    const library = await loadLibrary(version);
    const { lastAssistantMessageIsCompleteWithApprovalResponses: sendAutomaticallyWhen } = library;
    const base = kernel.services.aiSdk.status().url!;
    return createChat(library, { id: "later", base, messages, sendAutomaticallyWhen });
  };
  const stored = async ({ origin }: Service) => {
    const response = await fetch(`${origin}/ai/chat/later/messages`, { headers: authorization });
    return ((await response.json()) as { messages: UiMessage[] }).messages;
  };
  const cardIn = (parts: ReturnType<typeof partsOf>) =>
    parts.find(({ type }) => type === "dynamic-tool")!;

  test.each([
    [true, "allow", "output-available"],
    [false, "deny", "output-denied"],
  ])("ends with a card, and streams the answer to %j", async (approved, effect, state) => {
    const service = await start();
    const chat = await connect(service);
    await chat.sendMessage({ text: "go" });
    const card = cardIn(partsOf(chat));
    expect(card).toMatchObject({ state: "approval-requested", title: "rm x" });
    expect(textOf(chat)).toBe("I will wait.");
    await chat.addToolApprovalResponse({ id: card.approval!.id, approved });
    await vi.waitFor(() => {
      expect(textOf(chat)).toBe(`I will wait.The effect is ${effect}.`);
      expect(chat.status).toBe("ready");
    });
    expect(cardIn(partsOf(chat)).state).toBe(state);
    expect(chat.error).toBeUndefined();
  });

  test("draws a card after a reload, which answers", async () => {
    const service = await start();
    await (await connect(service)).sendMessage({ text: "go" });
    const chat = await connect(service, await stored(service));
    const card = cardIn(partsOf(chat));
    await chat.addToolApprovalResponse({ id: card.approval!.id, approved: true });
    await vi.waitFor(() => expect(textOf(chat)).toBe("I will wait.The effect is allow."));
    await vi.waitFor(() => expect(chat.status).toBe("ready"));
    expect(service.open()).toEqual([]);
    const after = await stored(service);
    expect(after.flatMap(({ parts }) => parts).filter((part) => part.approval)).toEqual([]);
  });

  test("answers a question of a run that another client began", async () => {
    const service = await start(blocking);
    const other = service.kernel.services.picoServer.protocol("other");
    void other.deliver(
      {
        session: "ai_sdk/later",
        id: "other-1",
        content: "go",
        media: [],
        at: Date.now(),
        hops: 0,
        sender: { id: "ann" },
      },
      { dedupe: true },
    );
    await vi.waitFor(() => expect(service.open()).toHaveLength(1));
    const messages = await stored(service);
    const chat = await connect(service, messages);
    const card = cardIn(partsOf(chat));
    expect(card.state).toBe("approval-requested");
    await chat.addToolApprovalResponse({ id: card.approval!.id, approved: true });
    await vi.waitFor(() => expect(textOf(chat)).toBe("I will look.The effect is allow."));
    await vi.waitFor(() => expect(chat.status).toBe("ready"));
    expect(cardIn(partsOf(chat)).state).toBe("output-available");
  });

  test("shows what was said after the answer of another device", async () => {
    const service = await start();
    const chat = await connect(service);
    await chat.sendMessage({ text: "go" });
    const [asked] = service.open();
    await service.channels.answer(asked!, asked!.id, { option: "no" }, { id: "ann" }, "dashboard");
    await vi.waitFor(async () =>
      expect(JSON.stringify(await stored(service))).toContain("The effect is deny."),
    );
    await chat.addToolApprovalResponse({ id: asked!.id, approved: true });
    await vi.waitFor(() => expect(textOf(chat)).toBe("I will wait.The effect is deny."));
    expect(cardIn(partsOf(chat)).state).toBe("output-denied");
  });
});

const ask = {
  id: "c",
  messages: [{ id: "1", role: "user", parts: [{ type: "text", text: "go" }] }],
};
const respond = (id: string, approved: boolean) => {
  const part = { type: "dynamic-tool", toolName: "doorward_ask", toolCallId: id };
  const answered = { state: "approval-responded", approval: { id, approved } };
  return { id: "a", role: "assistant", parts: [{ ...part, ...answered, input: {} }] };
};

test("ends immediately while no program can take the answer", async () => {
  let isAway = false;
  const service = await start(async (message) => {
    if (isAway) throw Object.assign(new Error("away"), { code: "not_running" });
    return later(message);
  });
  await post(service, "/ai/chat", tokens.ai_sdk, ask);
  const [asked] = service.open();
  isAway = true;
  const body = { id: "c", messages: [respond(asked!.id, true)] };
  const { text } = await post(service, "/ai/chat", tokens.ai_sdk, body);
  expect(text).toContain("It waits for the program.");
  expect(text).toContain('"type":"finish"');
  expect(service.open()).toEqual([]);
  // The same answer again, still without a program.
  const again = await post(service, "/ai/chat", tokens.ai_sdk, body);
  expect(again.text).toContain("It waits for the program.");
});

test.each(["ai_sdk", "ag_ui", "openai"])("answers after a restart: %s", async (name) => {
  const home = createFolder();
  const openaiConfig = { questions: "responses" };
  const first = await startProtocols({ home, openaiConfig });
  first.state.handler = later;
  const to = { origin: first.origin, open: () => [] } as unknown as Service;
  const input = { model: "doorward", input: "go" };
  const thread = { threadId: "c", messages: [{ id: "1", role: "user", content: "go" }] };
  const sent = {
    ai_sdk: () => post(to, "/ai/chat", tokens.ai_sdk, ask),
    ag_ui: () => post(to, "/ag-ui", tokens.ag_ui, { ...thread, runId: "r1" }),
    openai: () => post(to, "/v1/responses", tokens.openai, input),
  };
  const { text: before } = await sent[name as keyof typeof sent]();
  const { id } = first.channels.questions()[0]!;
  await first[Symbol.asyncDispose]();
  const service = await start(later, { home, openaiConfig });
  const item = /mcpr_[\w-]+/.exec(before)?.[0];
  const approved = { type: "mcp_approval_response", approval_request_id: item, approve: true };
  const previous_response_id = /resp_[\w-]+/.exec(before)?.[0];
  const resume = [{ interruptId: id, status: "resolved", payload: { approved: true } }];
  const answered = {
    ai_sdk: () =>
      post(service, "/ai/chat", tokens.ai_sdk, { id: "c", messages: [respond(id, true)] }),
    ag_ui: () => post(service, "/ag-ui", tokens.ag_ui, { ...thread, runId: "r2", resume }),
    openai: () =>
      post(service, "/v1/responses", tokens.openai, {
        ...input,
        input: [approved],
        previous_response_id,
      }),
  };
  const { text } = await answered[name as keyof typeof answered]();
  expect(text).toContain("The effect is allow.");
});

test("streams two answers of one request in the order of their questions", async () => {
  const service = await start(async ({ answer, reply, ask: put }) => {
    if (answer) return void (await reply({ content: `${answer.key} ${answer.effect}.` }));
    await put({ ...approval, durable: "first" });
    await put({ ...approval, durable: "second" });
  });
  await post(service, "/ai/chat", tokens.ai_sdk, ask);
  const [first, second] = service.open();
  const parts = [respond(first!.id, true), respond(second!.id, false)].flatMap(
    (each) => each.parts,
  );
  const message = { id: "a", role: "assistant", parts };
  const { text } = await post(service, "/ai/chat", tokens.ai_sdk, { id: "c", messages: [message] });
  const [one, two] = [text.indexOf("first allow."), text.indexOf("second deny.")];
  expect(one).toBeGreaterThan(0);
  expect(two).toBeGreaterThan(one);
});

test("sends calls for the client after the question", async () => {
  const call = { id: "1", name: "locate", arguments: "{}", for: "client" } as const;
  const service = await start(async (message) => {
    if (!message.answer) return later(message);
    await message.reply({ content: "", kind: "tool_calls", toolCalls: [call] });
  });
  await post(service, "/ai/chat", tokens.ai_sdk, { ...ask, tools: [{ name: "locate" }] });
  const [asked] = service.open();
  const body = { id: "c", messages: [respond(asked!.id, true)] };
  const { text } = await post(service, "/ai/chat", tokens.ai_sdk, body);
  const chunk = text.split("\n").find((line) => line.includes('"toolName":"locate"'))!;
  expect(JSON.parse(chunk.slice("data: ".length))).toMatchObject({ type: "tool-input-available" });
  expect(chunk).not.toContain("providerExecuted");
});

describe.skipIf(!agUi.isInstalled)("durable questions in AG-UI", () => {
  test("interrupts at the end, and streams the answer", async () => {
    const service = await start();
    const url = service.kernel.services.agUi.status().url!;
    const agent = agUi.createAgent(await agUi.loadLibrary(), { url, thread: "later" });
    const { events } = await agUi.send(agent);
    const [asked] = service.open();
    expect(events.at(-1)).toMatchObject({
      outcome: { type: "interrupt", interrupts: [{ id: asked!.id, message: "Delete x?" }] },
    });
    const resume = [{ interruptId: asked!.id, status: "resolved", payload: { approved: true } }];
    const resumed = await agUi.run(agent, { resume });
    expect(resumed.failure).toBeUndefined();
    expect(resumed.events.at(-1)).toMatchObject({ outcome: { type: "success" } });
    expect(agUi.textOf(agent)).toBe("The effect is allow.");
  });
});

describe("durable questions in OpenAI", () => {
  interface Response {
    readonly id: string;
    readonly output: readonly { readonly type: string; readonly id: string }[];
  }
  const responses = async (service: Service, body: object) => {
    const reply = await post(service, "/v1/responses", tokens.openai, {
      model: "doorward",
      ...body,
    });
    return { ...reply, value: JSON.parse(reply.text) as Response };
  };

  test.each([false, true])("ends with an item that the next request answers: %j", async (named) => {
    const service = await start(later, { openaiConfig: { questions: "responses" } });
    const { value, headers } = await responses(service, { input: "go" });
    const [asked] = service.open();
    expect(headers.get("x-doorward-question")).toBe(asked!.id);
    const item = value.output.find(({ type }) => type === "mcp_approval_request")!;
    const answer = { type: "mcp_approval_response", approval_request_id: item.id, approve: true };
    const input = named ? [answer] : [{ role: "user", content: "go" }, item, answer];
    const previous = named && { previous_response_id: value.id };
    const next = await responses(service, { input, ...previous });
    expect(next.text).toContain("The effect is allow.");
  });

  test.each(["link", "wait"])("ends with a link: %s", async (questions) => {
    const service = await start(later, { openaiConfig: { questions } });
    const messages = [{ role: "user", content: "go" }];
    const body = { model: "doorward", messages };
    const { text } = await post(service, "/v1/chat/completions", tokens.openai, body);
    const [asked] = service.open();
    expect(text).toContain(`/${asked!.id}`);
    const form = { response_format: { type: "json_object" } };
    const formed = await post(service, "/v1/chat/completions", tokens.openai, { ...body, ...form });
    expect(formed).toMatchObject({ status: 409 });
    expect(formed.text).toContain("question_open");
  });
});
