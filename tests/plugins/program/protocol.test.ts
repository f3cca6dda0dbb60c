import { expect, test } from "vitest";
import { DoorwardError } from "../../../kernel/index.ts";
import { stand } from "../../support/program-harness.ts";

const rejected = (problem: string) => ({
  code: "bad_answer",
  message: expect.stringContaining(problem) as string,
});

test.each([
  [
    "a content that is no text",
    `{ type: "message.create", payload: { request_id: m.id, content: 5 } }`,
    '"payload.content"',
  ],
  [
    "its id as a number",
    `{ type: "message.create", payload: { request_id: Number(m.id), content: "x" } }`,
    '"payload.request_id"',
  ],
  ["no payload", `{ type: "message.create", request_id: m.id, content: "x" }`, '"payload"'],
  ["no type", `{ request_id: m.id, content: "x" }`, '"type"'],
  [
    "an error that is no text",
    `{ type: "error", payload: { request_id: m.id, message: {} } }`,
    '"payload.message"',
  ],
  [
    "a line over 1 MiB",
    `{ type: "message.create", payload: { request_id: m.id, content: "x".repeat(1_100_000) } }`,
    "over 1 MiB",
  ],
])("an answer that cannot be read is told to its sender at once: %s", async (_, line, problem) => {
  await using door = await stand(`each((m) => say(${line}));`);
  await expect(door.say("hello")).rejects.toMatchObject(rejected(problem));
});

test.each(["too_large", "unsupported"])(
  "an answer that the channel refuses as %s is told to its sender",
  async (code) => {
    const refusal = new DoorwardError(code, "It is not like that.");
    await using door = await stand(
      "each((m) => answer(m, 'x'));",
      {},
      {
        send: () => {
          throw refusal;
        },
      },
    );
    await expect(door.say("hello")).rejects.toMatchObject(rejected(": It is not like that."));
  },
);

test("the end of an answer that cannot be read is told, too", async () => {
  await using door = await stand(`each((m) => {
    answer(m, "I was ab", { message_id: "a", final: false });
    say({ type: "message.update", payload: { message_id: "a", content: [], final: true } });
  });`);
  await expect(door.say("hello")).rejects.toMatchObject(rejected('"payload.content"'));
});

test("what cannot be read and is no answer leaves the message waiting for it", async () => {
  await using door = await stand(`each((m) => {
    say({ type: "message.create", payload: { request_id: m.id, kind: "musing", content: "hm" } });
    say({ type: "message.create", payload: { request_id: m.id, final: false, content: 5 } });
    say({ type: "of a later version", payload: { request_id: m.id } });
    say({ type: "typing.start", payload: { request_id: 7 } });
    say({ type: "message.create", payload: { request_id: "999", content: 5 } });
    answer(m, "whole");
  });`);
  expect(await door.say("hello")).toBe("accepted");
  expect((await door.seen.next("the answer")).message?.content).toBe("whole");
});

test("an error behind the answer of the same message is none of its sender's business", async () => {
  await using door = await stand(`each((m) => process.stdout.write([
    { type: "message.create", payload: { request_id: m.id, content: "done" } },
    { type: "error", payload: { request_id: m.id, message: "and yet" } },
  ].map((line) => JSON.stringify(line) + "\\n").join("")));`);
  expect(await door.say("hello")).toBe("accepted");
});
