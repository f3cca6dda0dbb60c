// Runs the chats of the AI SDK, unmodified, against the protocol.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withHome } from "../../../support/token-store-harness.ts";
import { createControl } from "../../../support/growing-reply.ts";
import {
  authorization,
  createChat,
  isInstalled,
  loadLibrary,
  startAiSdk,
  textOf,
  versions,
  type Chat,
  type Library,
  type Service,
} from "./harness.ts";
import { replyCases, type Case } from "./reply-cases.ts";
import { requestCases } from "./request-cases.ts";
import { resumeCases } from "./resume-cases.ts";

describe.skipIf(!isInstalled).each(versions)("chat of the AI SDK %s", (version) => {
  let service: Service;
  let library: Library;
  let next = 0;
  beforeAll(async () => {
    library = await loadLibrary(version);
    service = await startAiSdk();
  });
  afterAll(() => service[Symbol.asyncDispose]());

  const cases: readonly Case[] = [...replyCases, ...requestCases, ...resumeCases];
  test.each(cases)("%s", async (_, handler, run) => {
    const control = createControl();
    service.state.handler = handler === "growing" ? control.handler : handler;
    const id = `chat ${version}/${(next += 1)}`;
    await run({
      service,
      library,
      control,
      id,
      session: `ai_sdk/${id}`,
      chat: (options) => createChat(library, { id, base: service.base, ...options }),
    });
  });

  test("runs a tool of the page, and shows one reply", async () => {
    const call = { id: "c", name: "weather", arguments: '{"city":"Rome"}', for: "client" } as const;
    service.state.handler = async ({ toolResults: results, reply }) =>
      results
        ? reply({ content: `It is ${results[0]!.content}.` })
        : reply({ content: "", kind: "tool_calls", toolCalls: [call] });
    const asked: unknown[] = [];
    const parameters = { type: "object" };
    const chat: Chat = createChat(library, {
      id: `tools ${version}`,
      base: service.base,
      transport: { body: { tools: [{ name: "weather", parameters }] } },
      sendAutomaticallyWhen: library.lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall({ toolCall: { toolName: tool, toolCallId, input } }) {
        asked.push([tool, input]);
        void chat.addToolOutput({ tool, toolCallId, output: "sunny" });
      },
    });
    await chat.sendMessage({ text: "Rome" });
    await expect.poll(() => textOf(chat)).toBe("It is sunny.");
    expect(asked).toEqual([["weather", { city: "Rome" }]]);
    expect(chat.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(chat.error).toBeUndefined();
  });

  test("shows a wrong token as an error with a sentence", async () => {
    const transport = { headers: { Authorization: "Bearer wrong" } };
    const chat = createChat(library, { id: "w", base: service.base, transport });
    await chat.sendMessage({ text: "hi" });
    expect([chat.status, chat.error?.message]).toEqual([
      "error",
      expect.stringContaining('"error":"invalid_api_key"'),
    ]);
  });

  test("receives 204 ten seconds after an end that it has seen", async () => {
    await using seen = await startAiSdk();
    const chat = createChat(library, { id: "e", base: seen.base });
    await chat.sendMessage({ text: "hi" });
    const resume = async (): Promise<number> => {
      const response = await fetch(`${seen.base}/chat/e/stream`, { headers: authorization });
      await response.text();
      return response.status;
    };
    expect(await resume()).toBe(200);
    seen.state.aheadMs = 10_001;
    expect(await resume()).toBe(204);
    await chat.resumeStream();
    expect([chat.status, textOf(chat)]).toEqual(["ready", "you said hi"]);
  });

  test("finds the conversation after a shutdown and a restart", () =>
    withHome(async ({ path: home }) => {
      const stopped = await startAiSdk({ home });
      stopped.state.handler = async (message) => {
        if (message.content === "first") return message.reply({ content: "done" });
        const stream = message.stream();
        stream.write("so far");
        await stream.drained();
        return new Promise((done) => message.signal.addEventListener("abort", done));
      };
      const chat = createChat(library, { id: "s", base: stopped.base });
      await chat.sendMessage({ text: "first" });
      await chat.regenerate();
      const [asked, answered] = chat.messages.map(({ id }) => id);
      const sent = chat.sendMessage({ text: "hi" });
      await expect.poll(() => textOf(chat)).toBe("so far");
      await stopped[Symbol.asyncDispose]();
      await sent;
      expect([chat.status, textOf(chat)]).toEqual(["error", "so far"]);

      await using restarted = await startAiSdk({ home });
      const response = await fetch(`${restarted.base}/chat/s/messages`, { headers: authorization });
      const { messages } = (await response.json()) as Pick<Chat, "messages">;
      const page = createChat(library, { id: "s", base: restarted.base, messages });
      expect(page.messages.slice(0, 2).map(({ id }) => id)).toEqual([asked, answered]);
      expect(page.messages.map(({ parts }) => parts[0]?.text)).toEqual([
        "first",
        "done",
        "hi",
        "so far",
      ]);
      await page.resumeStream();
      expect([page.status, page.messages.length]).toEqual(["ready", 4]);
    }));
});
