// Tests the ids of tool calls that leave, across conversations, restarts and people.
import { describe, expect, onTestFinished, test } from "vitest";
import type { HttpOptions } from "../../../plugins/http/index.ts";
import type { ToolCall } from "../../../plugins/channels/index.ts";
import {
  startProtocols,
  tokens,
  type ProtocolService,
  type ServiceOptions,
} from "../../support/protocol-service.ts";
import { createFolder } from "../../support/sqlite-store.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Programs number their calls, in each conversation from one. */
const call: ToolCall = { id: "call_1", name: "weather", arguments: "{}", for: "client" };
const own: ToolCall = { id: "call_1", name: "look", arguments: "{}", result: "seen" };

async function start(options: ServiceOptions = {}): Promise<ProtocolService> {
  const service = await startProtocols(options);
  onTestFinished(() => service[Symbol.asyncDispose]());
  service.state.handler = async ({ content, toolResults, reply }) => {
    if (toolResults) return reply({ content: JSON.stringify(toolResults) });
    const toolCalls = [content === "look" ? own : call];
    await reply({ content: "", kind: "tool_calls", toolCalls });
  };
  return service;
}

async function post(
  { origin }: Pick<ProtocolService, "origin">,
  path: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly text: string }> {
  const name = path.startsWith("/v1") ? "openai" : path.startsWith("/ai/") ? "ai_sdk" : "ag_ui";
  const response = await fetch(origin + path, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${tokens[name]}`,
      "Content-Type": "application/json",
      ...headers,
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

const schema = { type: "object", properties: {} };
const tool = { name: "weather", parameters: schema };
const chatTools = [{ type: "function", function: tool }];

/** A client of one protocol. Its conversations look the same but for their names. */
interface Client {
  ask(service: ProtocolService, name: string, text?: string): Promise<string>;
  result(service: ProtocolService, name: string, id: string): Promise<{ readonly status: number }>;
}

const idPattern = /"(?:call_id|tool_call_id|toolCallId|id)":"(call_[\w-]+)"/;
const idIn = ({ text }: { readonly text: string }): string => idPattern.exec(text)?.[1] ?? text;

const user = { role: "user", content: "Rome" };
/** OpenAI clients name no session: the id of the call alone leads to it. */
const chat: Client = {
  ask: async (service) =>
    idIn(
      await post(service, "/v1/chat/completions", {
        model: "doorward",
        messages: [user],
        tools: chatTools,
      }),
    ),
  result(service, _, id) {
    const toolCalls = [{ id, type: "function", function: { name: "weather", arguments: "{}" } }];
    const asked = { role: "assistant", content: null, tool_calls: toolCalls };
    const messages = [user, asked, { role: "tool", tool_call_id: id, content: "sunny" }];
    return post(service, "/v1/chat/completions", { model: "doorward", messages });
  },
};
const responses: Client = {
  ask: async (service) =>
    idIn(
      await post(service, "/v1/responses", {
        model: "doorward",
        input: "Rome",
        tools: [{ type: "function", ...tool }],
      }),
    ),
  result(service, _, call_id) {
    const output = { type: "function_call_output", call_id, output: "sunny" };
    return post(service, "/v1/responses", { model: "doorward", input: [user, output] });
  },
};
const question = (text: string) => ({ id: "q1", role: "user", parts: [{ type: "text", text }] });
const aiSdk: Client = {
  ask: async (service, id, text = "Rome") =>
    idIn(
      await post(service, "/ai/chat", { id, messages: [question(text)], tools: { weather: tool } }),
    ),
  result(service, id, toolCallId) {
    const part = {
      type: "tool-weather",
      toolCallId,
      state: "output-available",
      input: {},
      output: "sunny",
    };
    const shown = { id: "a1", role: "assistant", parts: [{ type: "step-start" }, part] };
    return post(service, "/ai/chat", { id, messages: [question("Rome"), shown] });
  },
};
const run = { runId: "r1", state: {}, context: [], forwardedProps: {} };
const agUi: Client = {
  ask: async (service, threadId, content = "Rome") =>
    idIn(
      await post(service, "/ag-ui", {
        ...run,
        threadId,
        messages: [{ id: "q1", role: "user", content }],
        tools: [{ ...tool, description: "" }],
      }),
    ),
  result(service, threadId, toolCallId) {
    const result = { id: "r9", role: "tool", toolCallId, content: "sunny" };
    const messages = [{ id: "q1", role: "user", content: "Rome" }, result];
    return post(service, "/ag-ui", { ...run, runId: "r2", threadId, messages, tools: [] });
  },
};

const clients = { chat, responses, aiSdk, agUi };
const named = Object.entries(clients);
const results = [{ id: "call_1", name: "weather", content: "sunny" }];
const lastOf = ({ received }: ProtocolService) => received.at(-1)!;

describe("id of a tool call that leaves", () => {
  test.each(named)("reaches its conversation after a restart (%s)", async (_, client) => {
    const home = await createFolder();
    const before = await start({ home });
    const first = await client.ask(before, "one");
    const { session } = lastOf(before);
    await before.kernel.stop();
    const after = await start({ home });
    const second = await client.ask(after, "two");
    expect(second).not.toBe(first);
    const other = lastOf(after).session;
    await client.result(after, "one", first);
    expect(lastOf(after)).toMatchObject({ session, toolResults: results });
    await client.result(after, "two", second);
    expect(lastOf(after)).toMatchObject({ session: other, toolResults: results });
  });

  test.each([
    ["aiSdk", aiSdk],
    ["agUi", agUi],
  ])("fails in another conversation after a restart (%s)", async (_, client) => {
    const home = await createFolder();
    const before = await start({ home });
    const first = await client.ask(before, "one");
    await client.ask(before, "two");
    await before.kernel.stop();
    const after = await start({ home });
    expect((await client.result(after, "two", first)).status).toBe(400);
    expect(after.received).toEqual([]);
  });

  test.each(["call_1", "call_1~0a1b2c3d", `call_${"0".repeat(24)}`])(
    "fails without a session if no call has left as %s",
    async (id) => {
      const service = await start({ home: await createFolder() });
      for (const client of [chat, responses]) await client.ask(service, "");
      const before = service.received.length;
      for (const client of [chat, responses])
        expect((await client.result(service, "", id)).status).toBe(400);
      expect(service.received.length).toBe(before);
    },
  );

  test.each([
    ["aiSdk", aiSdk],
    ["agUi", agUi],
  ])("differs for calls of the application, too (%s)", async (_, client) => {
    const service = await start();
    const ids = [
      await client.ask(service, "one", "look"),
      await client.ask(service, "two", "look"),
    ];
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^call_[0-9a-f]{24}$/);
  });

  test("gives a deleted conversation of the same name other ids", async () => {
    const service = await start({ home: await createFolder() });
    const first = await aiSdk.ask(service, "one");
    const { conversations } = service.kernel.services;
    const [{ id } = { id: "" }] = (await conversations.list()).items;
    await conversations.forget(id);
    service.state.aheadMs = 3_600_000;
    const body = { id: "one", messages: [{ ...question("Rome"), id: "q2" }] };
    const second = idIn(await post(service, "/ai/chat", { ...body, tools: { weather: tool } }));
    expect([second.slice(0, 5), second === first]).toEqual(["call_", false]);
    expect((await aiSdk.result(service, "one", first)).status).toBe(400);
  });

  test("keeps the ids of the application in earlier turns after a restart", async () => {
    const home = await createFolder();
    const before = await start({ home });
    const id = await agUi.ask(before, "one", "look");
    await before.kernel.stop();
    const after = await start({ home });
    const toolCalls = [{ id, type: "function", function: { name: "look", arguments: "{}" } }];
    const messages = [
      { id: "q1", role: "user", content: "look" },
      { id, role: "assistant", toolCalls },
      { id: `${id}:result`, role: "tool", toolCallId: id, content: "seen" },
      { id: "q2", role: "user", content: "Rome" },
    ];
    await post(after, "/ag-ui", { ...run, threadId: "one", messages, tools: [] });
    expect(lastOf(after).previous).toMatchObject([
      { role: "user" },
      { toolCalls: [{ id: "call_1" }] },
      { toolCallId: "call_1" },
    ]);
  });
});

describe("people of a host", () => {
  const identify: NonNullable<HttpOptions["identify"]> = (request) => ({
    id: String(request.headers["x-person"]),
    onEnd: () => () => undefined,
  });
  const ask = (service: ProtocolService, person: string, more: Fields = {}) =>
    post(
      service,
      "/v1/chat/completions",
      { model: "doorward", messages: [user], tools: chatTools, ...more },
      { "x-person": person },
    );

  test("send results of tools without a session", async () => {
    const service = await start({ identify });
    const id = idIn(await ask(service, "ann"));
    const { session } = lastOf(service);
    expect(session).toMatch(/^host:ann\/openai\//);
    const messages = [user, { role: "tool", tool_call_id: id, content: "sunny" }];
    expect((await ask(service, "ann", { messages })).status).toBe(200);
    expect(lastOf(service)).toMatchObject({ session, toolResults: results });
  });

  test("do not reach the calls of each other", async () => {
    const service = await start({ identify });
    const id = idIn(await ask(service, "ann"));
    const before = service.received.length;
    const messages = [user, { role: "tool", tool_call_id: id, content: "sunny" }];
    expect((await ask(service, "bob", { messages })).status).toBe(400);
    expect(service.received.length).toBe(before);
  });
});

describe("id of a response", () => {
  const respond = async (service: ProtocolService, body: object) => {
    const { text } = await post(service, "/v1/responses", { model: "doorward", ...body });
    return JSON.parse(text) as { id: string; error?: Fields };
  };

  test("leads to its conversation after a restart", async () => {
    const home = await createFolder();
    const before = await start({ home });
    const { id } = await respond(before, { input: "hi" });
    const { session } = lastOf(before);
    await before.kernel.stop();
    const after = await start({ home });
    await respond(after, { input: "and?", previous_response_id: id });
    expect(lastOf(after).session).toBe(session);
  });

  test("leads nowhere once its conversation is deleted", async () => {
    const service = await start({ home: await createFolder() });
    const { id } = await respond(service, { input: "hi" });
    const { conversations } = service.kernel.services;
    await conversations.forget((await conversations.list()).items[0]!.id);
    const { error } = await respond(service, { input: "and?", previous_response_id: id });
    expect(error).toMatchObject({ code: "previous_response_not_found" });
  });

  test("leads nowhere at another service", async () => {
    const first = await start({ home: await createFolder() });
    const { id } = await respond(first, { input: "hi" });
    const other = await start({ home: await createFolder() });
    const { error } = await respond(other, { input: "and?", previous_response_id: id });
    expect(error).toMatchObject({ code: "previous_response_not_found" });
  });
});
