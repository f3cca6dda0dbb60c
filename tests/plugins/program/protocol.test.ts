import { describe, expect, test } from "vitest";
import { DoorwardError } from "../../../kernel/index.ts";
import { startProgram } from "../../support/program-harness.ts";

const rejected = (problem: string) => ({
  code: "bad_answer",
  message: expect.stringContaining(problem) as string,
});

describe("replies of a program", () => {
  test.each([
    [
      "a number as content",
      `{ type: "message.create", payload: { request_id: m.id, content: 5 } }`,
      '"payload.content"',
    ],
    [
      "a number as request_id",
      `{ type: "message.create", payload: { request_id: Number(m.id), content: "x" } }`,
      '"payload.request_id"',
    ],
    [
      "a missing payload",
      `{ type: "message.create", request_id: m.id, content: "x" }`,
      '"payload"',
    ],
    ["a missing type", `{ request_id: m.id, content: "x" }`, '"type"'],
    [
      "an object as error message",
      `{ type: "error", payload: { request_id: m.id, message: {} } }`,
      '"payload.message"',
    ],
    [
      "a line over 1 MiB",
      `{ type: "message.create", payload: { request_id: m.id, content: "x".repeat(1_100_000) } }`,
      "over 1 MiB",
    ],
  ])("rejects the message of an invalid reply: %s", async (_, line, problem) => {
    await using harness = await startProgram(`each((m) => say(${line}));`);
    await expect(harness.say("hello")).rejects.toMatchObject(rejected(problem));
  });

  test.each(["too_large", "unsupported"])(
    "rejects the message if the channel answers %s",
    async (code) => {
      const rejection = new DoorwardError(code, "The channel cannot send it.");
      await using harness = await startProgram(
        "each((m) => answer(m, 'x'));",
        {},
        {
          send: () => {
            throw rejection;
          },
        },
      );
      await expect(harness.say("hello")).rejects.toMatchObject(
        rejected(": The channel cannot send it."),
      );
    },
  );

  test("rejects the message if the final update is invalid", async () => {
    await using harness = await startProgram(`each((m) => {
    answer(m, "I was ab", { message_id: "a", final: false });
    say({ type: "message.update", payload: { message_id: "a", content: [], final: true } });
  });`);
    await expect(harness.say("hello")).rejects.toMatchObject(rejected('"payload.content"'));
  });

  test("keep the message waiting after invalid lines that complete nothing", async () => {
    await using harness = await startProgram(`each((m) => {
    say({ type: "message.create", payload: { request_id: m.id, kind: "musing", content: "hm" } });
    say({ type: "message.create", payload: { request_id: m.id, final: false, content: 5 } });
    say({ type: "of a later version", payload: { request_id: m.id } });
    say({ type: "typing.start", payload: { request_id: 7 } });
    say({ type: "message.create", payload: { request_id: "999", content: 5 } });
    answer(m, "whole");
  });`);
    expect(await harness.say("hello")).toBe("accepted");
    expect((await harness.seen.next("the reply")).message?.content).toBe("whole");
  });

  test("ignore an error after the reply to the same message", async () => {
    await using harness = await startProgram(`each((m) => process.stdout.write([
    { type: "message.create", payload: { request_id: m.id, content: "done" } },
    { type: "error", payload: { request_id: m.id, message: "and yet" } },
  ].map((line) => JSON.stringify(line) + "\\n").join("")));`);
    expect(await harness.say("hello")).toBe("accepted");
  });
});
