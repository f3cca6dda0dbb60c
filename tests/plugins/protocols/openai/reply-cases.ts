// Cases about the things that libraries receive: text, thoughts, usage, the end, and stops.
import { expect } from "vitest";
import { both, inParts, thinking, withText, type Case } from "./client-case.ts";
import { echo } from "./harness.ts";

interface OutputItem {
  readonly type: string;
  readonly content: readonly { readonly text: string }[];
}
interface ResponseObject {
  readonly id: string;
  readonly previous_response_id: string | null;
  readonly output: readonly OutputItem[];
}
const textOf = ({ type, content }: OutputItem): [string, string | undefined] => [
  type,
  content[0]?.text,
];

export const replyCases: readonly Case[] = [
  [
    "lists the model",
    echo,
    async ({ call }) =>
      expect(await call("models")).toEqual([
        expect.objectContaining({ id: "doorward", object: "model", owned_by: "doorward" }),
      ]),
  ],
  [
    "finds the model by its id",
    echo,
    async ({ call }) =>
      expect(await call("model", { model: "doorward" })).toMatchObject({ id: "doorward" }),
  ],
  [
    "accepts and echoes another model",
    echo,
    async ({ call, chat }) => {
      expect(await call("model", { model: "gpt-9" })).toMatchObject({ id: "gpt-9" });
      expect(await chat({ model: "gpt-9" })).toMatchObject({ model: "gpt-9" });
    },
  ],
  [
    "receives the whole reply",
    echo,
    async ({ chat }) =>
      expect(await chat()).toMatchObject({
        text: "you said hi",
        finish: "stop",
        model: "doorward",
      }),
  ],
  [
    "receives the same text streamed and whole",
    inParts("Hel", "lo ", "there"),
    async ({ chat, stream }) => {
      const streamed = await stream();
      expect(streamed.text).toBe("Hello there");
      expect((await chat()).text).toBe(streamed.text);
    },
  ],
  [
    "receives the role in the first chunk only",
    inParts("a", "b"),
    async ({ stream }) => {
      const { first, roles } = await stream();
      expect([first, roles]).toEqual([{ role: "assistant", content: "" }, ["assistant"]]);
    },
  ],
  [
    "receives the finish reason of the application",
    async ({ reply }) => reply({ content: "cut", finishReason: "length" }),
    (context) => both(context, ({ finish }) => expect(finish).toBe("length")),
  ],
  [
    "receives the usage of a whole reply",
    inParts("a"),
    async ({ chat }) =>
      expect((await chat()).usage).toMatchObject({
        prompt_tokens: 9,
        completion_tokens: 2,
        total_tokens: 11,
      }),
  ],
  [
    "receives the usage in the stream if it asks for it",
    inParts("a"),
    async ({ stream }) => {
      const { usage } = await stream({ stream_options: { include_usage: true } });
      expect(usage).toMatchObject({ total_tokens: 11 });
    },
  ],
  [
    "receives zeros as usage if it is unknown",
    echo,
    (context) => {
      const body = { stream_options: { include_usage: true } };
      const none = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
      return both(context, ({ usage }) => expect(usage).toEqual(none), body);
    },
  ],
  [
    "receives no usage in the stream without asking",
    inParts("a"),
    async ({ stream }) => expect((await stream()).usage).toBeNull(),
  ],
  [
    "receives thoughts apart from the text",
    thinking,
    (context) =>
      both(context, (result) =>
        expect(result).toMatchObject({ reasoning: "hmm", text: "Hello", finish: "stop" }),
      ),
  ],
  [
    "collects a reply with the stream helper",
    thinking,
    async ({ call }) =>
      expect(await call("helper")).toMatchObject({ text: "Hello", finish: "stop" }),
  ],
  [
    "joins several messages with an empty line",
    withText(async ({ reply }) => {
      await reply({ content: "one" });
      await reply({ content: "two" });
    }),
    (context) => both(context, ({ text }) => expect(text).toBe("one\n\ntwo")),
  ],
  [
    "receives replaced text after the old one",
    async (message) => {
      const stream = message.stream();
      stream.write("wrong text");
      await stream.drained();
      stream.replace("right");
      await stream.end();
    },
    async ({ chat, stream }) => {
      expect((await chat()).text).toBe("right");
      expect((await stream()).text).toMatch(/right$/);
    },
  ],
  [
    "never receives a deleted message whole",
    () => undefined,
    async ({ chat, service }) => {
      service.state.handler = async ({ reply, channel, session }) => {
        const { id } = await reply({ content: "secret" });
        await service.channels.remove({ channel, session }, id);
        await reply({ content: "shown" });
      };
      expect((await chat()).text).toBe("shown");
    },
  ],
  [
    "receives tool calls of the application as a thought",
    async ({ reply }) => {
      const toolCalls = [{ id: "1", name: "search", arguments: '{"q":1}' }];
      await reply({ content: "", kind: "tool_calls", toolCalls });
      await reply({ content: "found" });
    },
    (context) =>
      both(context, ({ text, reasoning, toolCalls }) => {
        expect([text, toolCalls ?? false]).toEqual(["found", false]);
        expect(reasoning).toContain('search({"q":1})');
      }),
  ],
  [
    "receives an attachment as a Markdown image",
    async ({ reply }) => {
      const attachments = [{ type: "image/png", url: "https://e.org/a b.png", filename: "a" }];
      await reply({ content: "see", attachments });
    },
    (context) =>
      both(context, ({ text }) => expect(text).toBe("see\n\n![a](https://e.org/a%20b.png)")),
  ],
  [
    "receives an empty reply",
    async () => undefined,
    (context) => both(context, ({ text, finish }) => expect([text, finish]).toEqual(["", "stop"])),
  ],
  [
    "receives astral characters whole",
    inParts("a😀".slice(0, 2), "a😀".slice(2), "b"),
    (context) => both(context, ({ text }) => expect(text).toBe("a😀b")),
  ],
  [
    "receives a whole response",
    thinking,
    async ({ call, last }) => {
      const body = { input: "hi", instructions: "be brief", metadata: { a: "b" } };
      const response = await call<ResponseObject>("response", { body });
      expect(response).toMatchObject({ object: "response", status: "completed" });
      expect(response.output.map(textOf)).toEqual([
        ["reasoning", "hmm"],
        ["message", "Hello"],
      ]);
      expect(last().previous).toEqual([{ role: "system", content: "be brief" }]);
    },
  ],
  [
    "receives the events of a response in order",
    thinking,
    async ({ call }) => {
      const streamed = await call<{ types: readonly string[]; final: ResponseObject }>(
        "responseStream",
        { body: { input: "hi" } },
      );
      const item = (name: string): string[] => [
        "response.output_item.added",
        "response.content_part.added",
        `response.${name}.delta`,
        `response.${name}.done`,
        "response.content_part.done",
        "response.output_item.done",
      ];
      expect(streamed.types).toEqual([
        "response.created",
        "response.in_progress",
        ...item("reasoning_text"),
        ...item("output_text"),
        "response.completed",
      ]);
      expect(streamed.final.output.map(textOf)).toContainEqual(["message", "Hello"]);
    },
  ],
  [
    "continues the conversation of an earlier response",
    echo,
    async ({ call, last }) => {
      const first = await call<ResponseObject>("response", { body: { input: "one" } });
      const { session } = last();
      const body = { input: "two", previous_response_id: first.id };
      const second = await call<ResponseObject>("response", { body });
      expect(second.previous_response_id).toBe(first.id);
      expect(last()).toMatchObject({ session, content: "two" });
      const unknown = { input: "two", previous_response_id: "resp_unknown" };
      const { error } = await call("response", { body: unknown });
      expect(error).toMatchObject({ status: 400, code: "previous_response_not_found" });
    },
  ],
];
