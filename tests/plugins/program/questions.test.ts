// Tests the lines with which a program asks questions.
import { describe, expect, test } from "vitest";
import { createStoppedClock } from "../../../kernel/testing.ts";
import { startProgram, waitFor } from "../../support/program-harness.ts";
import { runFor } from "../../support/timers.ts";

/** Asks about each message, and replies with the line that tells the outcome. */
const asker = (payload: object) => `
let request;
each((m) => {
  if (m.type === "message.send" && m.payload.content === "ping") return answer(m, "pong");
  if (m.type === "message.send") {
    request = m;
    return say({ type: "question.ask", payload: { request_id: m.id, message_id: "q1", ...${JSON.stringify(payload)} } });
  }
  answer(request, JSON.stringify(m));
});`;

const approval = {
  kind: "approval",
  content: "Delete 3 files?",
  tool_call_id: "c1",
  options: [{ id: "once", label: "Allow once", effect: "allow" }],
};
const to = { channel: "sample", session: "s" };
const by = { id: "owner", name: "Ann" };

/** @returns The one open question, once the program has asked it. */
async function asked({ kernel }: Awaited<ReturnType<typeof startProgram>>) {
  const { channels } = kernel.services;
  const [question] = await waitFor(() => channels.questions().length === 1 && channels.questions());
  return question!;
}

/** @returns The line that the program has sent back. */
const lineOf = async (program: Awaited<ReturnType<typeof startProgram>>): Promise<unknown> => {
  for (;;) {
    const { message } = await program.seen.next("the reply");
    if (message?.content.startsWith("{")) return JSON.parse(message.content);
  }
};

describe("question.ask", () => {
  test("tells the program how its question was settled", async () => {
    await using program = await startProgram(asker(approval));
    const { channels } = program.kernel.services;
    void program.say("delete", "s", "m");
    const question = await asked(program);
    expect(question).toMatchObject({
      ...to,
      inReplyTo: "m",
      question: { toolCallId: "c1", options: [{ id: "once" }, { id: "deny" }] },
    });
    await channels.answer(to, question.id, { option: "once", text: "ok" }, by, "push");
    expect(await lineOf(program)).toEqual({
      type: "question.settled",
      id: "q1",
      channel: "sample",
      session_id: "s",
      payload: {
        outcome: "answered",
        option: "once",
        effect: "allow",
        text: "ok",
        by,
        via: "push",
        at: expect.any(Number),
      },
    });
  });

  test("answers a question of the wrong form with an error", async () => {
    await using program = await startProgram(asker({ ...approval, timeout_s: -1 }));
    void program.say("delete");
    expect(await lineOf(program)).toMatchObject({
      type: "error",
      id: "q1",
      payload: { code: "invalid_question", message: expect.stringContaining('"timeout_s"') },
    });
  });

  test("refuses a question about an unknown message or an open name", async () => {
    const script = `each((m) => {
      if (m.type !== "message.send") return say({ type: "message.create", session_id: "s", channel: "sample", payload: { content: JSON.stringify(m) } });
      const ask = (request_id) => say({ type: "question.ask", channel: "sample", session_id: "s", payload: { message_id: "q", request_id, kind: "approval", content: "Go?" } });
      ask(); ask(); ask("99");
    });`;
    await using program = await startProgram(script);
    program.say("go").catch(() => undefined);
    expect(await lineOf(program)).toMatchObject({ payload: { code: "invalid_question" } });
    expect(await lineOf(program)).toMatchObject({ payload: { code: "unknown_request" } });
  });

  test("withdraws a question", async () => {
    const script = `let request;
    each((m) => {
      if (m.type === "message.send") {
        request = m;
        say({ type: "question.ask", payload: { request_id: m.id, message_id: "q", kind: "approval", content: "Go?" } });
        return say({ type: "question.withdraw", payload: { message_id: "q" } });
      }
      answer(request, JSON.stringify(m));
    });`;
    await using program = await startProgram(script);
    void program.say("go");
    expect(await lineOf(program)).toMatchObject({
      id: "q",
      payload: { outcome: "withdrawn", via: "host" },
    });
  });

  test("pauses the timeout of its message", async () => {
    const clock = createStoppedClock();
    await using program = await startProgram(asker(approval), { timeoutS: 5 }, {}, clock);
    const { channels } = program.kernel.services;
    const said = program.say("delete");
    const question = await asked(program);
    runFor(clock, 3_600_000);
    await channels.answer(to, question.id, { option: "deny" }, by, "pico");
    expect(await lineOf(program)).toMatchObject({ payload: { effect: "deny" } });
    await expect(said).resolves.toBe("accepted");
  });

  test("expires after the time of the owner", async () => {
    const clock = createStoppedClock();
    await using program = await startProgram(asker(approval), { questionMaxS: 60 }, {}, clock);
    const { channels } = program.kernel.services;
    void program.say("delete");
    await waitFor(() => channels.questions().length === 1);
    runFor(clock, 60_000);
    expect(await lineOf(program)).toMatchObject({ payload: { outcome: "expired" } });
  });

  test("loses its questions when the program ends", async () => {
    await using program = await startProgram(
      `each((m) => {
        if (m.payload.content === "exit") process.exit(1);
        say({ type: "question.ask", payload: { request_id: m.id, message_id: "q", kind: "approval", content: "Go?" } });
      });`,
    );
    const { channels } = program.kernel.services;
    const said = program.say("go");
    expect(await said).toBe("accepted");
    await waitFor(() => channels.questions().length === 1);
    program.say("exit", "t").catch(() => undefined);
    await program.seen.next("the question");
    const { message } = await program.seen.next("the reply");
    expect(message).toMatchObject({
      content: "Go?\n\nThe application ended before this was answered. Ask again.",
      question: { settled: { outcome: "lost" } },
    });
  });

  test("settles its questions before it reads the stop", async () => {
    const script = `say({ type: "ready", payload: { can: ["stop"] } });
    const lines = [];
    each((m) => {
      if (m.type === "message.send" && m.payload.content === "lines") return answer(m, JSON.stringify({ lines }));
      if (m.type === "message.send")
        return say({ type: "question.ask", payload: { request_id: m.id, message_id: "q", kind: "approval", content: "Go?" } });
      lines.push(m.type);
      if (m.type === "message.stop") say({ type: "message.ack", payload: { request_id: m.id, final: true } });
    });`;
    await using program = await startProgram(script);
    const { channels } = program.kernel.services;
    program.say("go", "s", "m").catch(() => undefined);
    await waitFor(() => channels.questions().length === 1 && program.status().knowsStop);
    void program.halt("m", by);
    await program.ends.next("the end");
    void program.say("lines", "t");
    expect(await lineOf(program)).toEqual({ lines: ["question.settled", "message.stop"] });
  });
});

test("delivers the answer to a durable question to the next program", async () => {
  const script = `each((m) => {
    if (m.payload.content === "exit") process.exit(1);
    if (m.payload.answer) return answer(m, JSON.stringify({ id: m.payload.client_id, ...m.payload.answer }));
    say({ type: "question.ask", payload: { request_id: m.id, message_id: "q", kind: "approval", content: "Go?", durable: "step-3" } });
    answer(m, "asked");
  });`;
  await using program = await startProgram(script);
  const { channels } = program.kernel.services;
  void program.say("go");
  const question = await asked(program);
  const { id } = question;
  await program.say("exit", "t").catch(() => undefined);
  await channels.answer(to, id, { option: "allow" }, by, "cli");
  expect(await lineOf(program)).toEqual({
    id: `answer:${id}`,
    message_id: id,
    key: "step-3",
    outcome: "answered",
    option: "allow",
    effect: "allow",
    via: "cli",
  });
});

test("withdraws a durable question of the program that runs", async () => {
  const script = `each((m) => {
    if (m.payload.content === "back") {
      say({ type: "question.withdraw", payload: { message_id: "q" } });
      return answer(m, "withdrawn");
    }
    say({ type: "question.ask", payload: { request_id: m.id, message_id: "q", kind: "approval", content: "Go?", durable: "step-4" } });
    answer(m, "asked");
  });`;
  await using program = await startProgram(script);
  const { channels } = program.kernel.services;
  void program.say("go");
  const question = await asked(program);
  await program.say("back", "t");
  await waitFor(() => channels.questions().length === 0);
  expect(await channels.answer(to, question.id, { option: "allow" }, by, "cli")).toMatchObject({
    status: "already",
    settled: { outcome: "withdrawn" },
  });
});
