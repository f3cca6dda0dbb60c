// Tests what the end of an answer does with its messages, for programs with and without parts.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createStoppedClock } from "../../../kernel/testing.ts";
import { conversationsErrors } from "../../../plugins/conversations/index.ts";
import { picoErrors } from "../../../plugins/pico-server/errors.ts";
import { startProgram, waitFor, type SeenMessage } from "../../support/program-harness.ts";
import { runFor } from "../../support/timers.ts";

const parts = `say({ type: "ready", payload: { can: ["stop", "parts"] } });`;
/** Writes the lines of the message; `$` in them is its id. */
const writer = `each((m) => {
  for (const line of JSON.parse(m.payload.content.replaceAll("$", m.id)))
    line === "exit" ? process.exit(3) : say(line);
});`;

type Harness = Awaited<ReturnType<typeof startProgram>>;
type Line = object | "exit";
const create = (content: string, more: object = {}): Line => ({
  type: "message.create",
  payload: { request_id: "$", content, ...more },
});
const update = (message_id: string, more: object): Line => ({
  type: "message.update",
  payload: { message_id, ...more },
});
const append = (message_id: string, more: object): Line => ({
  type: "message.append",
  payload: { message_id, ...more },
});
const ack: Line = { type: "message.ack", payload: { request_id: "$", final: true } };
const call = (id: string, more: object = {}): object => ({
  id,
  function: { name: "f", arguments: "{}" },
  ...more,
});
const known = (id: string, more: object = {}): object => ({
  id,
  name: "f",
  arguments: "{}",
  ...more,
});

/** Answers one message with these lines; returns everything that reached the channel by its end. */
async function answerWith(harness: Harness, lines: readonly Line[], id = "a") {
  const outcome = harness
    .deliver({ id, content: JSON.stringify(lines) })
    .catch(({ code }: { code: string }) => code);
  const { end } = await harness.ends.next("the end", (ended) => ended.id === id);
  return { seen: harness.seen.waiting.slice(), outcome: await outcome, end };
}
const latest = (seen: readonly SeenMessage[]): object[] => {
  const byId = new Map(seen.flatMap(({ id, message }) => (message ? [[id, message]] : [])));
  return [...byId.values()];
};

describe.each([
  ["with parts", parts],
  ["without parts", ""],
])("the end of an answer %s", (_, ready) => {
  test("completes its open messages and removes placeholders", async () => {
    await using harness = await startProgram(ready + writer);
    const { seen, end } = await answerWith(harness, [
      create("one", { message_id: "x", final: false, model_name: "m" }),
      append("x", { content: " two" }),
      create("hm", { kind: "thought", final: false }),
      create("wait", { message_id: "p", placeholder: true }),
      create("", { message_id: "e", final: false }),
      ack,
    ]);
    const final = { final: true, inReplyTo: "a" };
    expect(seen.slice(-4).map(({ what, message }) => [what, message])).toEqual([
      ["update", { ...final, content: "one two", added: expect.any(String) as string, model: "m" }],
      ["update", { ...final, content: "hm", added: "", kind: "thought" }],
      ["remove", undefined],
      ["update", { ...final, content: "", added: "" }],
    ]);
    expect(end).toMatchObject({ outcome: "completed", messages: 4 });
  });

  test.each([
    ["a complete call and its result", {}, {}],
    ["a growing call and its result", { final: false }, { final: false }],
  ])("stores %s", async (_name, first, second) => {
    await using harness = await startProgram(ready + writer);
    const tools = { message_id: "t", content: "" };
    const calls = [call("1"), call("2")];
    const { seen } = await answerWith(harness, [
      create("", { ...tools, kind: "tool_calls", tool_calls: calls, ...first }),
      update("t", { ...tools, tool_calls: [call("1", { result: "ok" })], ...second }),
      update("t", { ...tools, tool_calls: [call("2", { error: "no" })], ...second }),
      create("done"),
      ack,
    ]);
    expect(latest(seen)).toMatchObject([
      {
        content: "",
        kind: "tool_calls",
        final: true,
        inReplyTo: "a",
        toolCalls: [known("1", { result: "ok" }), known("2", { error: "no" })],
      },
      { content: "done", inReplyTo: "a" },
    ]);
  });

  test("sends nothing about messages that final lines have sent", async () => {
    await using harness = await startProgram(ready + writer);
    const { seen } = await answerWith(harness, [
      create("", { message_id: "t", kind: "tool_calls", tool_calls: [call("1")] }),
      update("t", { final: true, tool_calls: [call("1", { result: "ok" })] }),
      create("hm", { kind: "thought" }),
      create("done"),
      ack,
    ]);
    expect(seen.map(({ what }) => what)).toEqual(["send", "update", "send", "send"]);
  });

  test("keeps calls and files that a final line does not repeat", async () => {
    await using harness = await startProgram(ready + writer);
    const attachments = [{ url: "https://example.org/a.png", type: "image/png" }];
    const { seen } = await answerWith(harness, [
      create("", { message_id: "t", kind: "tool_calls", tool_calls: [call("1")], final: false }),
      update("t", { final: true }),
      create("see", { message_id: "x", final: false, attachments }),
      append("x", { content: " this", final: true }),
      ack,
    ]);
    expect(latest(seen)).toMatchObject([
      { final: true, toolCalls: [known("1")] },
      { final: true, content: "see this", attachments: [{ type: "image/png" }] },
    ]);
  });

  test.each([
    [
      "an error",
      [{ type: "error", payload: { request_id: "$", message: "no" } }],
      "application_refused",
    ],
    ["the end of the program", ["exit"], "application_ended"],
    ["an invalid line", [create("x", { attachments: 7 })], "bad_answer"],
    [
      "an invalid end",
      [{ type: "message.ack", payload: { request_id: "$", final: 1 } }],
      "bad_answer",
    ],
  ] as const)("precedes the failure by %s", async (_name, last, code) => {
    await using harness = await startProgram(ready + writer);
    const { seen, outcome, end } = await answerWith(harness, [
      create("so far", { message_id: "x", final: false }),
      ...(last as readonly Line[]),
    ]);
    expect(seen.map(({ what, message }) => [what, message?.content, message?.final])).toEqual([
      ["send", "so far", false],
      ["update", "so far", true],
    ]);
    expect([outcome, end.outcome, end.code]).toEqual([code, "failed", code]);
  });

  test("precedes the failure by silence", async () => {
    const clock = createStoppedClock();
    await using harness = await startProgram(ready + writer, {}, {}, clock);
    const lines = [create("so far", { message_id: "x", final: false })];
    const answer = answerWith(harness, lines);
    await waitFor(() => harness.seen.waiting.length > 0);
    runFor(clock, 120_000);
    const { seen, end } = await answer;
    expect(latest(seen)).toEqual([{ content: "so far", added: "", final: true, inReplyTo: "a" }]);
    expect(end.code).toBe("no_answer");
  });
});

describe("a program with parts", () => {
  test("fails if a part is too large", async () => {
    await using harness = await startProgram(
      parts + writer,
      {},
      {
        send: (_session, id, message) => {
          if (message.content.length > 10) throw picoErrors.too_large(20, 10);
          return { id, status: "written" };
        },
      },
    );
    const { outcome, end } = await answerWith(harness, [create("x".repeat(20)), ack]);
    expect([outcome, end.outcome]).toEqual(["bad_answer", "failed"]);
  });

  test("fails if the last text could not be completed", async () => {
    await using harness = await startProgram(
      parts + writer,
      {},
      {
        update: () => Promise.reject(conversationsErrors.store_unavailable()),
      },
    );
    const { outcome, end } = await answerWith(harness, [
      create("one", { message_id: "x", final: false }),
      ack,
    ]);
    expect([outcome, end.code]).toEqual(["store_unavailable", "store_unavailable"]);
  });

  test("completes a message whose name it uses again", async () => {
    await using harness = await startProgram(parts + writer);
    const { seen } = await answerWith(harness, [
      create("one", { message_id: "x", final: false }),
      create("two", { message_id: "x", final: false }),
      append("x", { content: "!" }),
      ack,
    ]);
    expect(latest(seen)).toMatchObject([
      { content: "one", final: true },
      { content: "two!", final: true },
    ]);
  });

  test("keeps the outcome of an answer that it ended before a stop", async () => {
    let release: (() => void) | undefined;
    await using harness = await startProgram(
      parts + writer,
      {},
      {
        send: (_session, id) =>
          new Promise((done) => (release = () => done({ id, status: "written" }))),
      },
    );
    const typing = { type: "typing.start", channel: "sample", session_id: "other", payload: {} };
    const answer = answerWith(harness, [create("one"), ack, typing]);
    await waitFor(() => release);
    await harness.seen.next("typing, which follows the end");
    void harness.halt("a");
    release!();
    expect((await answer).end.outcome).toBe("completed");
  });

  test("reads what Doorward understands from its environment", async () => {
    await using harness = await startProgram("each((m) => answer(m, process.env.DOORWARD_CAN));", {
      env: { PATH: process.env["PATH"] ?? "", DOORWARD_CAN: "other" },
    });
    await harness.deliver({ id: "a" });
    expect((await harness.seen.next("the reply")).message?.content).toBe(
      "stop,append,parts,questions,tools,continue,order,status",
    );
  });
});

describe("the last state of each message", () => {
  const step = fc.record({
    name: fc.constantFrom("x", "y", "z"),
    type: fc.constantFrom("create", "update", "append"),
    text: fc
      .string({ maxLength: 5, unit: "grapheme-ascii" })
      .map((text) => text.replaceAll("$", "")),
    final: fc.boolean(),
    kind: fc.constantFrom(undefined, "thought"),
  });
  const steps = fc.array(step, { maxLength: 12 });
  const ends = fc.constantFrom("ack", "error");

  test("arrives as final before the end of the answer", async () => {
    await using harness = await startProgram(parts + writer);
    let count = 0;
    await fc.assert(
      fc.asyncProperty(steps, ends, async (given, how) => {
        const id = `m${(count += 1)}`;
        /** In the order of creation. */
        const model: { text: string; isFinal: boolean }[] = [];
        const named = new Map<string, { text: string; isFinal: boolean }>();
        const lines = given.map(({ name, type, text, final, kind }): Line => {
          const message_id = `${name}-$`;
          const before = named.get(name);
          if (!before || type === "create") {
            const message = { text, isFinal: final };
            model.push(message);
            named.set(name, message);
            return create(text, { message_id, final, ...(kind && { kind }) });
          }
          if (type === "append" && !before.isFinal) before.text += text;
          if (type === "update") before.text = text;
          if (type === "update" || !before.isFinal) before.isFinal ||= final;
          return type === "update"
            ? update(message_id, { content: text, final })
            : append(message_id, { content: text, final });
        });
        const error = { type: "error", payload: { request_id: "$", message: "no" } };
        const { seen } = await answerWith(harness, [...lines, how === "ack" ? ack : error], id);
        while (harness.seen.waiting.length > 0) await harness.seen.next("a frame");
        const states = latest(seen) as { content: string; final?: boolean }[];
        expect(states.map(({ content, final = true }) => [content, final])).toEqual(
          model.map(({ text }) => [text, true]),
        );
      }),
      { numRuns: 60 },
    );
  });
});
