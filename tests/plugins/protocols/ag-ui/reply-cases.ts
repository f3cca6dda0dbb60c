// Cases about the events that an agent receives.
import { expect } from "vitest";
import { programErrors } from "../../../../plugins/program/errors.ts";
import type { Control } from "../../../support/growing-reply.ts";
import { stopWith } from "./stop.ts";
import { run, send, textOf, type Agent, type Handler, type Service } from "./harness.ts";

export interface Context {
  readonly service: Service;
  readonly thread: string;
  /** The session of the channel. */
  readonly session: string;
  /** The reply of a case whose handler is `growing`. */
  readonly control: Control;
  /** Creates an agent of this thread. */
  agent(options?: object): Agent;
}
export type Case = readonly [
  title: string,
  handler: Handler | "growing",
  run: (context: Context) => Promise<void>,
];

/** Ids that leave are random. */
const leftId = expect.stringMatching(/^call_[0-9a-f]{24}$/) as unknown as string;
const toolCalls = [{ id: "c1", name: "look", arguments: '{"at":"sky"}' }];

export const replyCases: readonly Case[] = [
  [
    "receives text, usage and success",
    async (message) => {
      const stream = message.stream();
      for (const part of ["Hel", "lo ", "😀"]) {
        stream.write(part);
        await stream.drained();
      }
      await stream.end({ usage: { input: 9, output: 2, cached: 4 }, model: "m1" });
    },
    async ({ agent, thread }) => {
      const created = agent();
      const { events, failure } = await send(created, "hi", { runId: "r1" });
      expect([textOf(created), failure]).toEqual(["Hello 😀", undefined]);
      const ids = { threadId: thread, runId: "r1" };
      expect(events[0]).toMatchObject({ type: "RUN_STARTED", ...ids, protocolVersion: "1.0" });
      expect(events.at(-1)).toMatchObject({
        type: "RUN_FINISHED",
        ...ids,
        outcome: { type: "success" },
        usage: [
          { model: "m1", inputTokens: 9, outputTokens: 2, totalTokens: 11, cachedInputTokens: 4 },
        ],
      });
    },
  ],
  [
    "receives thoughts as reasoning",
    async (message) => {
      const thought = message.stream({ kind: "thought" });
      thought.write("hmm");
      await thought.end();
      await message.reply({ content: "Hello" });
    },
    async ({ agent }) => {
      const created = agent();
      const { types } = await send(created);
      expect([textOf(created, "reasoning"), textOf(created)]).toEqual(["hmm", "Hello"]);
      expect(types).toEqual([
        "RUN_STARTED",
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
      ]);
    },
  ],
  [
    "receives a plan as an activity",
    async (message) => {
      const plan = { content: "- Look", kind: "plan" } as const;
      await message.reply({ ...plan, entries: [{ content: "Look", state: "running" }] });
      await message.reply({ content: "blue" });
    },
    async ({ agent }) => {
      const created = agent();
      const { types } = await send(created);
      expect(types).toContain("ACTIVITY_SNAPSHOT");
      expect(textOf(created)).toBe("blue");
    },
  ],
  [
    "receives a tool call",
    async ({ reply }) => {
      await reply({ content: "", kind: "tool_calls", toolCalls });
      await reply({ content: "blue" });
    },
    async ({ agent }) => {
      const created = agent();
      await send(created);
      const calls = created.messages.flatMap((message) => message.toolCalls ?? []);
      expect(calls).toMatchObject([{ id: leftId, function: { name: "look" } }]);
      expect(textOf(created)).toBe("blue");
    },
  ],
  [
    "receives a tool call with its result",
    async (message) => {
      const [call] = toolCalls;
      await message.reply({ content: "", kind: "tool_calls", toolCalls });
      const done = [{ ...call!, result: "blue" }];
      await message.reply({ content: "", kind: "tool_calls", toolCalls: done });
    },
    async ({ agent }) => {
      const created = agent();
      const { types } = await send(created);
      expect(types).toEqual([
        "RUN_STARTED",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
        "RUN_FINISHED",
      ]);
      const result = { role: "tool", toolCallId: leftId, content: "blue" };
      expect(created.messages).toContainEqual(expect.objectContaining(result));
      // The client sends the result along with the next message.
      await send(created);
    },
  ],
  [
    "receives an attachment",
    ({ reply }) =>
      reply({ content: "see", attachments: [{ type: "image/png", bytes: Buffer.from("png") }] }),
    async ({ agent }) => {
      const { events } = await send(agent());
      const value = expect.objectContaining({ url: "data:image/png;base64,cG5n" });
      expect(events).toContainEqual({ type: "CUSTOM", name: "doorward.attachment", value });
    },
  ],
  [
    "receives an error after a crash, without its details",
    async (message) => {
      const stream = message.stream();
      stream.write("so far");
      await stream.drained();
      await stream.end();
      throw new Error("a secret");
    },
    async ({ agent }) => {
      const created = agent();
      const { events } = await send(created);
      const message = "The message could not be processed.";
      expect(events.at(-1)).toEqual({ type: "RUN_ERROR", code: "internal", message });
      expect(textOf(created)).toBe("so far");
    },
  ],
  [
    "receives a status if it is rejected before the start",
    async () => {
      throw programErrors.application_refused("No, thanks.");
    },
    async ({ agent }) => {
      const { failure } = await send(agent());
      expect(failure).toMatchObject({
        status: 400,
        payload: { error: "application_refused", message: "No, thanks." },
      });
    },
  ],
  [
    "receives cancelled after a stop",
    "growing",
    async ({ agent, service, control, thread }) => {
      const created = agent();
      const before = service.received.length;
      const ended = send(created, "hi", { runId: "r7" });
      await expect.poll(() => service.received.length).toBe(before + 1);
      control.write("so far");
      await expect.poll(() => textOf(created)).toBe("so far");
      const path = `${service.url}/${encodeURIComponent(thread)}/stop`;
      const stop = (body: object): Promise<unknown> => stopWith(path, body);
      expect(await stop({ runId: "another" })).toEqual({ success: true, stopped: [] });
      expect(await stop({ runId: "r7" })).toMatchObject({ stopped: [{ status: "stopping" }] });
      const { events } = await ended;
      expect(events.at(-1)).toMatchObject({
        type: "RUN_FINISHED",
        outcome: { type: "cancelled" },
      });
      expect(textOf(created)).toBe("so far");
      expect(await stop({})).toEqual({ success: true, stopped: [] });
    },
  ],
  [
    "receives replaced text by a snapshot, and its growth",
    "growing",
    async ({ agent, service, control }) => {
      const created = agent();
      const before = service.received.length;
      const ended = send(created);
      await expect.poll(() => service.received.length).toBe(before + 1);
      control.write("wrong");
      await expect.poll(() => textOf(created)).toBe("wrong");
      control.replace("right");
      await expect.poll(() => textOf(created)).toBe("right");
      control.write("!");
      control.end();
      const { types } = await ended;
      expect(textOf(created)).toBe("right!");
      expect(types.filter((type) => type === "TEXT_MESSAGE_START")).toHaveLength(2);
      expect(created.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    },
  ],
  [
    "receives the message of another client while it runs",
    "growing",
    async ({ agent, service, control, session }) => {
      const created = agent();
      const before = service.received.length;
      const ended = send(created);
      await expect.poll(() => service.received.length).toBe(before + 1);
      control.write("one");
      await expect.poll(() => textOf(created)).toBe("one");
      service.state.handler = () => undefined;
      const other = service.kernel.services.picoServer.protocol("other");
      const message = { session, id: "x", content: "also", media: [], at: 0, hops: 0 };
      await other.deliver(message, { dedupe: true });
      await expect.poll(() => textOf(created, "user")).toBe("also");
      control.end();
      await ended;
    },
  ],
  [
    "sends no null in any event",
    ({ reply }) =>
      reply({ content: "Hello", attachments: [{ type: "image", url: "https://a.b" }] }),
    async ({ agent }) => {
      const created = agent();
      await send(created);
      const { events } = await run(created);
      expect(JSON.stringify(events)).not.toContain("null");
    },
  ],
];
