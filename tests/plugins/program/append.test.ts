import { describe, expect, test } from "vitest";
import { startProgram, waitFor, type SeenMessage } from "../../support/program-harness.ts";

const append = `const append = (payload) => say({ type: "message.append", payload });`;

async function untilFinal(next: () => Promise<SeenMessage>): Promise<SeenMessage[]> {
  const frames = [];
  do frames.push(await next());
  while (frames.at(-1)!.message?.final !== true);
  return frames;
}

describe("message.append", () => {
  test("grows a message and ends the reply with the whole text", async () => {
    await using harness = await startProgram(`${append} each((m) => {
      answer(m, "Hel", { message_id: "a", final: false });
      for (let i = 0; i < 500; i++) append({ message_id: "a", content: i === 0 ? "lo" : "." });
      const usage = { input_tokens: 9, output_tokens: 2 };
      append({ message_id: "a", content: "!", final: true, finish_reason: "length", usage });
    });`);
    expect(await harness.deliver({ id: "a" })).toBe("accepted");
    const began = performance.now();
    const frames = await untilFinal(() => harness.seen.next("a frame"));
    expect(frames.at(-1)).toMatchObject({
      what: "update",
      id: frames[0]!.id,
      message: { content: `Hello${".".repeat(499)}!`, final: true, inReplyTo: "a" },
    });
    expect(frames.length).toBeLessThanOrEqual(4 + (performance.now() - began) / 100);
    expect(await harness.ends.next("the end")).toEqual({
      id: "a",
      end: {
        outcome: "completed",
        finishReason: "length",
        messages: 1,
        usage: { input: 9, output: 2 },
      },
    });
  });

  test("continues the text of an update", async () => {
    await using harness = await startProgram(`${append} each((m) => {
      answer(m, "a", { message_id: "a", final: false });
      say({ type: "message.update", payload: { message_id: "a", content: "b" } });
      append({ message_id: "a", content: "c", final: true });
    });`);
    await harness.deliver({ id: "a" });
    const frames = await untilFinal(() => harness.seen.next("a frame"));
    expect(frames.at(-1)!.message?.content).toBe("bc");
  });

  test("logs a line about a complete or unknown message once", async () => {
    await using harness = await startProgram(`${append} each((m) => {
      answer(m, "done", { message_id: "a" });
      for (const message_id of ["a", "a", "gone", "gone"]) append({ message_id, content: "x" });
      say({ type: "message.create", channel: "sample", session_id: "s", payload: { content: "end" } });
    });`);
    await harness.deliver({ id: "a" });
    expect((await harness.seen.next("the reply")).message?.content).toBe("done");
    expect((await harness.seen.next("the last message")).message?.content).toBe("end");
    expect(harness.lines.filter(({ level }) => level === "warn").map(({ text }) => text)).toEqual([
      "the program adds text to a message that is not growing",
      "the program updates a message it has not created",
    ]);
  });

  test("fails a reply that grows beyond the limit of a message", async () => {
    await using harness = await startProgram(`${append} each((m) => {
      answer(m, "a", { message_id: "a", final: false });
      append({ message_id: "a", content: "x".repeat(400_000) });
      append({ message_id: "a", content: "x".repeat(400_000) });
    });`);
    await expect(harness.deliver({ id: "a" })).rejects.toMatchObject({
      code: "bad_answer",
      message: expect.stringContaining("512 KiB") as string,
    });
    const frames = await untilFinal(() => harness.seen.next("a frame"));
    expect(frames.at(-1)!.message?.content).toHaveLength(400_001);
  });
});

describe("usage, finish_reason and model_name of a program", () => {
  const facts = `usage: { input_tokens: 4, output_tokens: 3, reasoning_tokens: 2, cached_tokens: 1 },
    finish_reason: "content_filter", model_name: "large", suggestions: ["More?", "x".repeat(81), 5]`;
  const suggestions = ["More?"];
  const usage = { input: 4, output: 3, reasoning: 2, cached: 1 };
  const end = {
    finishReason: "content_filter",
    usage,
    model: "large",
    outcome: "completed",
    suggestions,
  };

  test.each([
    ["message.create", `answer(m, "hi", { ${facts} })`, 1],
    [
      "message.update",
      `answer(m, "h", { message_id: "a", final: false });
      say({ type: "message.update",
        payload: { message_id: "a", content: "hi", final: true, ${facts} } })`,
      1,
    ],
    [
      "message.ack",
      `answer(m, "hm", { kind: "thought" });
      say({ type: "message.ack", payload: { request_id: m.id, final: true, ${facts} } })`,
      1,
    ],
  ])("end the answer with %s", async (_, code, messages) => {
    await using harness = await startProgram(`each((m) => { ${code}; });`);
    await harness.deliver({ id: "a" });
    expect(await harness.ends.next("the end")).toEqual({ id: "a", end: { ...end, messages } });
    expect(harness.lines).toContainEqual(
      expect.objectContaining({
        level: "warn",
        text: expect.stringMatching(/^suggestions of an answer are left out/) as string,
      }),
    );
  });

  test("count as absent in another form", async () => {
    await using harness = await startProgram(`each((m) => answer(m, "hi", {
      usage: { prompt_tokens: 3, input_tokens: "many" }, finish_reason: "end_turn",
    }));`);
    expect(await harness.deliver({ id: "a" })).toBe("accepted");
    expect((await harness.ends.next("the end")).end).toEqual({
      outcome: "completed",
      finishReason: "stop",
      messages: 1,
    });
    expect((await harness.seen.next("the reply")).message).toEqual({
      content: "hi",
      inReplyTo: "a",
    });
  });
});

describe("message.send", () => {
  test("carries the protocol, the sender, earlier turns and metadata", async () => {
    await using harness = await startProgram("each((m) => answer(m, JSON.stringify(m.payload)));");
    await harness.deliver({
      id: "a",
      sender: { id: "owner", name: "Ann" },
      protocol: "openai",
      previous: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: "look",
          name: "ann",
          media: [{ type: "image/png", bytes: Buffer.from("hi"), filename: "cat.png" }],
        },
      ],
      metadata: { openai: { temperature: 0.5 } },
    });
    const { message } = await harness.seen.next("the reply");
    expect(JSON.parse(message!.content)).toEqual({
      content: "hello",
      client_id: "a",
      sender: { id: "owner", name: "Ann" },
      door: "openai",
      previous: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: "look",
          name: "ann",
          media: ["data:image/png;base64,aGk="],
          attachments: [{ content_type: "image/png", filename: "cat.png" }],
        },
      ],
      metadata: { openai: { temperature: 0.5 } },
    });
    await waitFor(() => harness.status().answered === 1);
  });

  test("names the message that this one replaces", async () => {
    await using harness = await startProgram("each((m) => answer(m, m.payload.replaces ?? '-'));");
    await harness.deliver({ id: "a" });
    await harness.deliver({ id: "b", replaces: "a" });
    const replies = [await harness.seen.next("the reply"), await harness.seen.next("the second")];
    expect(replies.map(({ message }) => message!.content)).toEqual(["-", "a"]);
  });

  test("leaves out empty turns and metadata", async () => {
    await using harness = await startProgram("each((m) => answer(m, JSON.stringify(m.payload)));");
    await harness.deliver({ id: "a", previous: [], metadata: {} });
    const { message } = await harness.seen.next("the reply");
    expect(JSON.parse(message!.content)).toEqual({ content: "hello", client_id: "a" });
  });
});
