// Runs the agent of AG-UI, unmodified, against the protocol.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createControl } from "../../../support/growing-reply.ts";
import {
  createAgent,
  isInstalled,
  loadLibrary,
  startAgUi,
  textOf,
  type Library,
  type Service,
} from "./harness.ts";
import { joinCases } from "./join-cases.ts";
import { replyCases, type Case } from "./reply-cases.ts";
import { requestCases } from "./request-cases.ts";

describe.skipIf(!isInstalled)("agent of AG-UI", () => {
  let service: Service;
  let library: Library;
  let next = 0;
  beforeAll(async () => {
    library = await loadLibrary();
    service = await startAgUi();
  });
  afterAll(() => service[Symbol.asyncDispose]());

  const cases: readonly Case[] = [...replyCases, ...requestCases, ...joinCases];
  test.each(cases)("%s", async (_, handler, run) => {
    const control = createControl();
    service.state.handler = handler === "growing" ? control.handler : handler;
    const thread = `thread ${(next += 1)}`;
    await run({
      service,
      control,
      thread,
      session: `ag_ui/${thread}`,
      agent: (options) => createAgent(library, { url: service.url, thread, ...options }),
    });
  });

  test("receives a call of its tool, and sends the result", async () => {
    const call = { id: "c", name: "weather", arguments: "{}", for: "client" } as const;
    service.state.handler = async ({ toolResults: results, reply }) =>
      results
        ? reply({ content: `It is ${results[0]!.content}.` })
        : reply({ content: "", kind: "tool_calls", toolCalls: [call] });
    const agent = createAgent(library, { url: service.url, thread: "tools" });
    const parameters = { type: "object", properties: {} };
    const tools = [{ name: "weather", description: "Weather", parameters }];
    agent.addMessage({ id: "tools-1", role: "user", content: "Rome" });
    await agent.runAgent({ tools });
    const [sent] = agent.messages.at(-1)!.toolCalls as unknown as [{ id: string }];
    agent.addMessage({ id: "tools-2", role: "tool", toolCallId: sent.id, content: "sunny" });
    await agent.runAgent({ tools });
    expect(textOf(agent)).toBe("It is sunny.");
  });

  test("receives an error at a shutdown, and nothing is left unhandled", async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", note);
    const stopped = await startAgUi();
    const control = createControl();
    stopped.state.handler = control.handler;
    const agent = createAgent(library, { url: stopped.url, thread: "s" });
    agent.addMessage({ id: "u", role: "user", content: "hi" });
    const codes: unknown[] = [];
    const ended = agent
      .runAgent({}, { onEvent: ({ event }) => void codes.push(event["code"]) })
      .catch(() => undefined);
    await expect.poll(() => stopped.received.length).toBe(1);
    control.write("so far");
    await expect.poll(() => textOf(agent)).toBe("so far");
    await stopped[Symbol.asyncDispose]();
    await ended;
    process.off("unhandledRejection", note);
    expect([codes.at(-1), unhandled]).toEqual(["not_running", []]);
  });
});
