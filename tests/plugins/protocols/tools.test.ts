// Tests the tools of clients through the three protocols.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ClientTool, Message, ToolCall } from "../../../plugins/channels/index.ts";
import { startProtocols, tokens, type ProtocolService } from "../../support/protocol-service.ts";
import { createFolder } from "../../support/sqlite-store.ts";

let service: ProtocolService;
beforeAll(async () => {
  service = await startProtocols();
});
afterAll(() => service[Symbol.asyncDispose]());

type Fields = Readonly<Record<string, unknown>>;

const call: ToolCall = { id: "c1", name: "weather", arguments: '{"city":"Rome"}', for: "client" };
/** Asks for the weather, and answers with the results. */
const ask =
  (...calls: readonly ToolCall[]) =>
  async ({ toolResults, reply }: Message) => {
    if (toolResults) return reply({ content: JSON.stringify(toolResults) });
    return reply({ content: "", kind: "tool_calls", toolCalls: calls });
  };
const lastMessage = () => service.received.at(-1)!;

async function post(path: string, token: string, body: object, headers: object = {}) {
  const response = await fetch(service.origin + path, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Reads the events of a stream. */
const eventsOf = ({ text }: { readonly text: string }): readonly Fields[] =>
  [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!) as Fields);

const schema = { type: "object", properties: { city: { type: "string" } } };
const tool: ClientTool = { name: "weather", description: "Weather of a city", parameters: schema };
const chatTools = [{ type: "function", function: tool }];
const user = { role: "user", content: "Rome" };

const chat = (body: object, headers: object = {}) =>
  post("/v1/chat/completions", tokens.openai, { model: "doorward", ...body }, headers);
const choiceOf = ({ text }: { readonly text: string }) =>
  (JSON.parse(text) as { choices: { message: Fields; finish_reason: string }[] }).choices[0]!;
const codeOf = ({ text }: { readonly text: string }) =>
  (JSON.parse(text) as { error: { code: string } | string }).error;

describe("message", () => {
  test("carries the tools and the choice of the client", async () => {
    await chat({ messages: [user], tools: chatTools, tool_choice: "auto" });
    expect(lastMessage()).toMatchObject({ tools: [tool], toolChoice: "auto" });
    expect(lastMessage().metadata).toEqual({ openai: { model: "doorward" } });
  });

  test.each([
    ["required", "required"],
    [{ type: "function", function: { name: "weather" } }, { name: "weather" }],
    [{ type: "function", name: "weather" }, { name: "weather" }],
  ])("carries the choice %j, which the header names", async (given, expected) => {
    const response = await chat({ messages: [user], tools: chatTools, tool_choice: given });
    expect(lastMessage().toolChoice).toEqual(expected);
    expect(response.headers.get("x-doorward-ignored")).toBe("tool_choice, tools");
  });

  test("leaves out tools of other types, and names them", async () => {
    const tools = [{ type: "web_search" }, ...chatTools];
    const response = await chat({ messages: [user], tools });
    expect(lastMessage().tools).toEqual([tool]);
    expect(response.headers.get("x-doorward-ignored")).toBe("tools, tools[0]");
  });

  test.each([
    ["too many tools", Array.from({ length: 129 }, () => chatTools[0]!), "unsupported_value"],
    [
      "too large tools",
      [{ type: "function", function: { name: "a", description: "x".repeat(300_000) } }],
      "too_large",
    ],
    ["a tool without a name", [{ type: "function", function: {} }], "missing_required_parameter"],
    [
      "a tool with a control character",
      [{ type: "function", function: { name: "a\n" } }],
      "unsupported_value",
    ],
    [
      "a schema that is too deep",
      [
        {
          type: "function",
          function: {
            name: "a",
            parameters: JSON.parse(`${'{"a":'.repeat(40)}1${"}".repeat(40)}`) as object,
          },
        },
      ],
      "unsupported_value",
    ],
  ])("rejects %s", async (_, tools, code) => {
    const before = service.received.length;
    expect(codeOf(await chat({ messages: [user], tools }))).toMatchObject({ code });
    expect(service.received.length).toBe(before);
  });
});

describe("chat completion", () => {
  test("ends with the calls, and continues with the results in one session", async () => {
    service.state.handler = ask(call);
    const first = await chat({ messages: [user], tools: chatTools });
    const { message, finish_reason: finish } = choiceOf(first);
    const [sent] = message["tool_calls"] as { id: string }[];
    expect(finish).toBe("tool_calls");
    expect(message["content"]).toBeNull();
    expect(sent).toMatchObject({
      type: "function",
      function: { name: "weather", arguments: '{"city":"Rome"}' },
    });
    const { session } = lastMessage();
    const result = { role: "tool", tool_call_id: sent!.id, content: "sunny" };
    const second = await chat({ messages: [user, message, result], tools: chatTools });
    const results = [{ id: "c1", name: "weather", content: "sunny" }];
    expect(JSON.parse(choiceOf(second).message["content"] as string)).toEqual(results);
    expect(lastMessage()).toMatchObject({ session, content: "", toolResults: results });
    expect(lastMessage().previous).toEqual([
      { role: "user", content: "Rome" },
      {
        role: "assistant",
        content: "",
        toolCalls: [{ id: "c1", name: "weather", arguments: '{"city":"Rome"}' }],
      },
    ]);
  });

  test("streams the calls", async () => {
    service.state.handler = ask(call, { ...call, id: "c2" });
    const chunks = eventsOf(await chat({ messages: [user], tools: chatTools, stream: true }));
    const choices = chunks.map(({ choices }) => (choices as Fields[])[0]!);
    const calls = choices.flatMap(({ delta }) => (delta as Fields)["tool_calls"] ?? []);
    expect(calls).toMatchObject([
      { index: 0, type: "function", function: { name: "weather" } },
      { index: 1, type: "function", function: { name: "weather" } },
    ]);
    expect(choices.at(-1)).toMatchObject({ finish_reason: "tool_calls" });
  });

  test.each([
    ["is not for the client", { ...call, for: undefined as never }, {}],
    ["names a tool that the request lacks", { ...call, name: "delete" }, {}],
    ["has a result", { ...call, result: "rain" }, {}],
    ["the client has excluded", call, { tool_choice: "none" }],
  ])("keeps a call that %s", async (_, kept, more) => {
    service.state.handler = ask(kept);
    const response = await chat({ messages: [user], tools: chatTools, ...more });
    expect(response.text).not.toContain("tool_calls");
    expect(choiceOf(response).finish_reason).toBe("stop");
  });

  test("keeps the calls of an answer that failed", async () => {
    service.state.handler = async (message) => {
      await ask(call)(message);
      throw new Error("broken");
    };
    const response = await chat({ messages: [user], tools: chatTools, stream: true });
    expect(response.text).not.toContain('"c1');
  });

  test("rejects the result of an unknown call", async () => {
    service.state.handler = ask(call);
    const before = service.received.length;
    const result = { role: "tool", tool_call_id: "other", content: "sunny" };
    const response = await chat({ messages: [user, result], tools: chatTools });
    expect([response.status, codeOf(response)]).toMatchObject([400, { code: "unknown_tool_call" }]);
    expect(service.received.length).toBe(before);
  });

  test("rejects the result of a call of another session", async () => {
    service.state.handler = ask(call);
    const body = { messages: [user], tools: chatTools };
    const { message } = choiceOf(await chat(body, { "X-Doorward-Session": "one" }));
    const [{ id }] = message["tool_calls"] as [{ id: string }];
    const messages = [user, { role: "tool", tool_call_id: id, content: "sunny" }];
    const response = await chat({ messages }, { "X-Doorward-Session": "two" });
    expect(codeOf(response)).toMatchObject({ code: "unknown_tool_call" });
  });

  test("gives equal ids of two sessions different names", async () => {
    service.state.handler = ask(call);
    const ids = [];
    for (const session of ["a", "b"]) {
      const headers = { "X-Doorward-Session": session };
      const response = await chat({ messages: [user], tools: chatTools }, headers);
      ids.push((choiceOf(response).message["tool_calls"] as { id: string }[])[0]!.id);
    }
    expect(new Set(ids).size).toBe(2);
    const result = { role: "tool", tool_call_id: ids[0], content: "sunny" };
    await chat({ messages: [user, result] });
    expect(lastMessage().session).toBe("openai/a");
  });
});

describe("response", () => {
  const respond = (body: object, headers: object = {}) =>
    post("/v1/responses", tokens.openai, { model: "doorward", ...body }, headers);
  const tools = [{ type: "function", ...tool }];

  test("ends with function calls, and reads their outputs", async () => {
    service.state.handler = ask(call);
    const { text } = await respond({ input: "Rome", tools });
    const { id, output } = JSON.parse(text) as { id: string; output: Fields[] };
    expect(output).toMatchObject([{ type: "function_call", name: "weather" }]);
    const { session } = lastMessage();
    const result = { type: "function_call_output", call_id: output[0]!["call_id"], output: "sun" };
    await respond({ input: [result], previous_response_id: id });
    expect(lastMessage()).toMatchObject({ session, toolResults: [{ id: "c1", content: "sun" }] });
    const input = [{ role: "user", content: "Rome" }, ...output, result];
    await respond({ input, tools });
    expect(lastMessage()).toMatchObject({ session, toolResults: [{ id: "c1", content: "sun" }] });
  });

  test("streams the events of a function call", async () => {
    service.state.handler = ask(call);
    const events = eventsOf(await respond({ input: "Rome", tools, stream: true }));
    expect(events.map(({ type }) => type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.function_call_arguments.delta",
      "response.function_call_arguments.done",
      "response.output_item.done",
      "response.completed",
    ]);
  });
});

describe("AI SDK", () => {
  const send = (messages: readonly object[], more: object = {}) =>
    post("/ai/chat", tokens.ai_sdk, { id: "page", messages, ...more });
  const question = { id: "q1", role: "user", parts: [{ type: "text", text: "Rome" }] };
  const tools = { weather: { description: tool.description, parameters: schema } };

  test("receives a call without an output, and continues its message", async () => {
    service.state.handler = ask(call);
    const chunks = eventsOf(await send([question], { tools }));
    expect(lastMessage().tools).toEqual([tool]);
    const input = chunks.find(({ type }) => type === "tool-input-available")!;
    expect(input).toEqual({
      type: "tool-input-available",
      toolCallId: input["toolCallId"],
      toolName: "weather",
      input: { city: "Rome" },
    });
    expect(chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "tool-calls" });
    const { messageId } = chunks[0]!;
    const part = { ...input, type: "tool-weather", state: "output-available", output: { sun: 1 } };
    const shown = { id: messageId, role: "assistant", parts: [{ type: "step-start" }, part] };
    const again = eventsOf(await send([question, shown], { messageId }));
    expect(again[0]).toMatchObject({ type: "start", messageId });
    expect(lastMessage().toolResults).toEqual([
      { id: "c1", name: "weather", content: '{"sun":1}' },
    ]);
    const before = service.received.length;
    await send([question, shown], { messageId });
    expect(service.received.length).toBe(before);
  });

  test("rejects the output of an unknown call", async () => {
    const part = { type: "tool-weather", toolCallId: "x", state: "output-error", errorText: "no" };
    const shown = { id: "a1", role: "assistant", parts: [part] };
    const response = await send([question, shown]);
    expect([response.status, codeOf(response)]).toEqual([400, "unknown_tool_call"]);
  });
});

describe("AG-UI", () => {
  const run = (messages: readonly object[], more: object = {}) =>
    post("/ag-ui", tokens.ag_ui, { threadId: "t", runId: "r", messages, ...more });
  const question = { id: "q1", role: "user", content: "Rome" };

  test("receives the events of a call, and sends its result", async () => {
    service.state.handler = ask(call);
    const events = eventsOf(await run([question], { tools: [tool] }));
    expect(events.map(({ type }) => type)).toEqual([
      "RUN_STARTED",
      "TOOL_CALL_START",
      "TOOL_CALL_ARGS",
      "TOOL_CALL_END",
      "RUN_FINISHED",
    ]);
    const { toolCallId } = events[1]!;
    const inner = { name: "weather", arguments: "{}" };
    const toolCalls = [{ id: toolCallId, type: "function", function: inner }];
    const shown = { id: toolCallId, role: "assistant", toolCalls };
    const result = { id: "r1", role: "tool", toolCallId, content: "sunny" };
    await run([question, shown, result]);
    const results = [{ id: "c1", name: "weather", content: "sunny" }];
    expect(lastMessage()).toMatchObject({ content: "", toolResults: results });
    const before = service.received.length;
    await run([question, shown, result]);
    expect(service.received.length).toBe(before);
  });

  test("rejects the result of an unknown call", async () => {
    const result = { id: "r9", role: "tool", toolCallId: "x", content: "sunny" };
    const response = await run([question, result]);
    expect([response.status, codeOf(response)]).toEqual([400, "unknown_tool_call"]);
  });
});

describe("conversation", () => {
  test("keeps results as a turn, and knows the call after a restart", async () => {
    const home = await createFolder();
    const headers = { "X-Doorward-Session": "kept" };
    const send = async (
      { origin }: Pick<ProtocolService, "origin">,
      messages: readonly object[],
    ): Promise<Fields> => {
      const response = await fetch(`${origin}/v1/chat/completions`, {
        method: "POST",
        headers: {
          Authorization: `Bearer ${tokens.openai}`,
          "Content-Type": "application/json",
          ...headers,
        },
        body: JSON.stringify({ model: "doorward", messages, tools: chatTools }),
      });
      return (await response.json()) as Fields;
    };
    await using before = await startProtocols({ home });
    before.state.handler = ask(call);
    const first = await send(before, [user]);
    const { message } = choiceOf({ text: JSON.stringify(first) });
    const [{ id }] = message["tool_calls"] as [{ id: string }];
    await before.kernel.stop();
    await using after = await startProtocols({ home });
    const result = { role: "tool", tool_call_id: id, content: "sunny" };
    await send(after, [user, result]);
    const { items } = await after.channels.history({ channel: "pico", session: "openai/kept" });
    expect(items.map(({ role, kind }) => kind ?? role)).toEqual([
      "user",
      "tool_calls",
      "tool",
      "assistant",
    ]);
    expect(items[2]).toMatchObject({
      content: "",
      toolResults: [{ id: "c1", name: "weather", content: "sunny" }],
    });
    expect(items[1]!.toolCalls).toMatchObject([{ id: "c1", for: "client" }]);
  });
});
