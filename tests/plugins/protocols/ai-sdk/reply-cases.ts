// Cases about the things that a chat receives: parts, metadata, the end.
import { expect } from "vitest";
import { programErrors } from "../../../../plugins/program/errors.ts";
import {
  partsOf,
  textOf,
  type Chat,
  type Handler,
  type Library,
  type Service,
  type UiPart,
} from "./harness.ts";
import type { Control } from "../../../support/growing-reply.ts";

export interface Context {
  readonly service: Service;
  readonly library: Library;
  /** Id of the chat. */
  readonly id: string;
  /** The session of the channel. */
  readonly session: string;
  /** The reply of a case whose handler is `growing`. */
  readonly control: Control;
  /** Creates a chat with this id. */
  chat(options?: object): Chat;
}
export type Case = readonly [
  title: string,
  handler: Handler | "growing",
  run: (context: Context) => Promise<void>,
];

export const inParts =
  (...parts: readonly string[]): Handler =>
  async (message) => {
    const stream = message.stream();
    for (const part of parts) {
      stream.write(part);
      await stream.drained();
    }
    await stream.end({ usage: { input: 9, output: 2 }, model: "m1" });
  };

const interleaved: Handler = async (message) => {
  const thought = message.stream({ kind: "thought" });
  const text = message.stream();
  thought.write("hm");
  text.write("Hel");
  await Promise.all([thought.drained(), text.drained()]);
  thought.write("m");
  await thought.end();
  text.write("lo");
  await text.end();
};

const send = async ({ chat }: Context, message: object = { text: "hi" }): Promise<Chat> => {
  const created = chat();
  await created.sendMessage(message);
  return created;
};

export const replyCases: readonly Case[] = [
  [
    "receives the text",
    inParts("Hel", "lo ", "😀there"),
    async (context) => {
      const chat = await send(context);
      expect([chat.status, textOf(chat)]).toEqual(["ready", "Hello 😀there"]);
      expect(chat.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    },
  ],
  [
    "receives thoughts as reasoning, in parallel with the text",
    interleaved,
    async (context) => {
      const chat = await send(context);
      expect([textOf(chat, "reasoning"), textOf(chat)]).toEqual(["hmm", "Hello"]);
      const states = partsOf(chat).flatMap(({ state }) => state ?? []);
      expect(states).toEqual(["done", "done"]);
    },
  ],
  [
    "receives a tool call that it must not execute",
    async ({ reply }) => {
      const toolCalls = [{ id: "c1", name: "look", arguments: '{"at":"sky"}' }];
      await reply({ content: "", kind: "tool_calls", toolCalls });
      await reply({ content: "blue" });
    },
    async (context) => {
      const chat = await send(context);
      expect(partsOf(chat)).toContainEqual(
        expect.objectContaining({
          type: "dynamic-tool",
          toolName: "look",
          input: { at: "sky" },
          state: "input-available",
        }),
      );
      expect(textOf(chat)).toBe("blue");
    },
  ],
  [
    "receives the results of tool calls",
    async ({ reply }) => {
      const look = { id: "c1", name: "look", arguments: "{}" };
      const ask = { id: "c2", name: "ask", arguments: "{}" };
      const calls = { content: "", kind: "tool_calls" } as const;
      await reply({ ...calls, toolCalls: [look, ask] });
      await reply({ ...calls, toolCalls: [{ ...look, result: '{"color":"blue"}' }] });
      await reply({ ...calls, toolCalls: [{ ...ask, error: "No network" }] });
      await reply({ content: "done" });
    },
    async (context) => {
      const tools = partsOf(await send(context)).filter(({ type }) => type === "dynamic-tool");
      expect(tools).toMatchObject([
        { toolName: "look", state: "output-available", output: { color: "blue" } },
        { toolName: "ask", state: "output-error", errorText: "No network" },
      ]);
    },
  ],
  [
    "receives a file",
    ({ reply }) =>
      reply({
        content: "see",
        attachments: [{ type: "image/png", bytes: Buffer.from("png"), filename: "a.png" }],
      }),
    async (context) => {
      const url = "data:image/png;base64,cG5n";
      expect(partsOf(await send(context))).toContainEqual(
        expect.objectContaining({ type: "file", mediaType: "image/png", url }),
      );
    },
  ],
  [
    "receives usage and model as metadata",
    inParts("a"),
    async (context) => {
      const chat = await send(context);
      const metadata = { usage: { input: 9, output: 2 }, model: "m1" };
      expect(chat.messages.at(-1)).toMatchObject({ metadata });
    },
  ],
  [
    "receives the suggestions as a part",
    ({ reply }) => reply({ content: "a", suggestions: ["And then?"] }),
    async (context) =>
      expect(partsOf(await send(context))).toContainEqual({
        type: "data-suggestions",
        data: ["And then?"],
      }),
  ],
  [
    "receives the finish reason",
    ({ reply }) => reply({ content: "cut", finishReason: "length" }),
    async ({ chat }) => {
      const reasons: unknown[] = [];
      const created = chat({
        onFinish: ({ finishReason }: { finishReason: string }) => void reasons.push(finishReason),
      });
      await created.sendMessage({ text: "hi" });
      expect(reasons).toEqual(["length"]);
    },
  ],
  [
    "shows the error of an application",
    async () => {
      throw programErrors.application_refused("No, thanks.");
    },
    async (context) => {
      const chat = await send(context);
      expect([chat.status, chat.error?.message]).toEqual([
        "error",
        '{"error":"application_refused","message":"No, thanks."}',
      ]);
    },
  ],
  [
    "shows an error that follows the first text, and no details of it",
    async (message) => {
      const stream = message.stream();
      stream.write("so far");
      await stream.drained();
      await stream.end();
      throw new Error("a secret");
    },
    async (context) => {
      const chat = await send(context);
      expect([chat.status, textOf(chat)]).toEqual(["error", "so far"]);
      expect(chat.error?.message).toBe("The message could not be processed.");
    },
  ],
  [
    "receives the message of another client while a reply runs",
    async (message) => {
      if (message.content !== "hi") return;
      message.accept();
      await message.reply({ content: "one", final: false });
      await new Promise((done) => message.signal.addEventListener("abort", done));
    },
    async ({ service, chat, session }) => {
      const data: UiPart[] = [];
      const created = chat({ onData: (part: UiPart) => void data.push(part) });
      const sent = created.sendMessage({ text: "hi" });
      await expect.poll(() => textOf(created)).toBe("one");
      const other = service.kernel.services.picoServer.protocol("other");
      const message = { session, id: "x", content: "also", media: [], at: 0, hops: 0 };
      await other.deliver(message, { dedupe: true });
      await expect.poll(() => data.length).toBe(1);
      expect(data[0]).toMatchObject({
        type: "data-doorward-turn",
        data: { text: "also", door: "other" },
      });
      void service.channels.stop({ channel: "pico", session });
      await sent;
    },
  ],
];
