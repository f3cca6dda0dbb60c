import { describe, expect, test } from "vitest";
import { createStoppedClock } from "../../../kernel/testing.ts";
import { startProgram, waitFor } from "../../support/program-harness.ts";

const echo = "each((m) => answer(m, 'you said ' + m.payload.content));";

describe("messages of a program", () => {
  test("send a reply to the session of its request_id", async () => {
    await using harness = await startProgram(echo);
    expect(await harness.say("hello", "ann")).toBe("accepted");
    const { session, message } = await harness.seen.next("the reply");
    expect([session, message]).toEqual(["ann", { content: "you said hello", inReplyTo: "m1" }]);
    await waitFor(() => harness.status().answered === 1);
  });

  test("arrive as Pico frames with the client's message id", async () => {
    await using harness = await startProgram("each((m) => answer(m, JSON.stringify(m)));");
    await harness.say("grüß\n\u2028dich", "ann", "client-7");
    const { message } = await harness.seen.next("the reply");
    expect(JSON.parse(message!.content)).toEqual({
      type: "message.send",
      id: "1",
      channel: "sample",
      session_id: "ann",
      timestamp: 0,
      payload: { content: "grüß\n\u2028dich", client_id: "client-7" },
    });
  });

  test("name their sender", async () => {
    await using harness = await startProgram(
      "each((m) => answer(m, JSON.stringify(m.payload.sender)));",
    );
    const { channel } = harness;
    for (const sender of [{ id: "host:ann", name: "Ann" }, { id: "owner" }]) {
      await channel.inlet().deliver(channel.message({ content: "hello", sender }));
      const { message } = await harness.seen.next("the reply");
      expect(JSON.parse(message!.content)).toEqual(sender);
    }
  });

  test("pass every documented field of a reply", async () => {
    await using harness = await startProgram(`each((m) => answer(m, "hi", {
      model_name: "large",
      context_usage: {
        used_tokens: 1, total_tokens: 2, history_tokens: 3,
        compress_at_tokens: 4, summarize_at_tokens: 5, used_percent: 50,
      },
      attachments: [
        { type: "image", url: "https://example.org/a", filename: "a.png" },
        {
          type: "file",
          url: "data:text/plain;base64,aGk=",
          filename: "b.txt",
          content_type: "text/plain",
        },
      ],
    }));`);
    await harness.say("hello");
    expect((await harness.seen.next("the reply")).message).toEqual({
      content: "hi",
      model: "large",
      contextUsage: {
        used: 1,
        total: 2,
        history: 3,
        compressAt: 4,
        summarizeAt: 5,
        usedPercent: 50,
      },
      attachments: [
        { type: "image", url: "https://example.org/a", filename: "a.png" },
        { type: "text/plain", bytes: Buffer.from("hi"), filename: "b.txt" },
      ],
      inReplyTo: "m1",
    });
  });

  test("do not complete the reply with a placeholder", async () => {
    await using harness = await startProgram(`each((m) => {
      answer(m, "Thinking", { message_id: "a", placeholder: true });
      if (m.payload.content === "wait") return setTimeout(() => process.exit(0), 50);
      say({ type: "message.update", payload: { message_id: "a", content: "42", final: true } });
    });`);
    const accepted = harness.say("hello");
    const { id, message } = await harness.seen.next("the placeholder");
    expect(message).toEqual({
      content: "Thinking",
      placeholder: true,
      final: false,
      inReplyTo: "m1",
    });
    expect(await harness.seen.next("the reply")).toMatchObject({
      what: "update",
      id,
      message: { content: "42", final: true },
    });
    expect(await accepted).toBe("accepted");
    harness.say("wait").catch(() => undefined);
    const second = await harness.seen.next("the placeholder");
    expect(await harness.seen.next("its end")).toMatchObject({ what: "remove", id: second.id });
  });

  test("arrive with the filenames of media", async () => {
    await using harness = await startProgram("each((m) => answer(m, JSON.stringify(m.payload)));");
    const media = [
      { type: "image/png", bytes: Buffer.from("hi"), filename: "cat.png" },
      { type: "image/gif", bytes: Buffer.from("ho") },
    ];
    await harness.say("look", "s", "m1", media);
    const { message } = await harness.seen.next("the reply");
    expect(JSON.parse(message!.content)).toEqual({
      content: "look",
      media: ["data:image/png;base64,aGk=", "data:image/gif;base64,aG8="],
      attachments: [
        { content_type: "image/png", filename: "cat.png" },
        { content_type: "image/gif" },
      ],
      client_id: "m1",
    });
  });

  test("create a message once, update it and finish it", async () => {
    await using harness = await startProgram(
      `each((m) => {
      answer(m, "one", { message_id: "a", final: false });
      const update = (payload) =>
        say({ type: "message.update", payload: { message_id: "a", ...payload } });
      for (let i = 0; i < 500; i++) update({ content: "one " + i });
      update({ content: "one two", final: true });
    });`,
      {},
      {},
      createStoppedClock(),
    );
    const accepted = harness.say("hello");
    const { id, message } = await harness.seen.next("the beginning");
    const began = performance.now();
    expect(message).toMatchObject({ content: "one", final: false });
    // At most nine updates per second.
    const updates = [];
    do updates.push(await harness.seen.next("an update"));
    while (updates.at(-1)!.message!.final !== true);
    expect(updates.every((update) => update.what === "update" && update.id === id)).toBe(true);
    expect(updates.at(-1)!.message!.content).toBe("one two");
    expect(updates.length).toBeLessThanOrEqual(3 + (performance.now() - began) / 100);
    expect(await accepted).toBe("accepted");
  });

  test("do not complete the reply with thoughts or typing", async () => {
    await using harness = await startProgram(`let first; each((m) => {
      if (!first) {
        say({ type: "typing.start", payload: { request_id: m.id } });
        answer(m, "let me see", { kind: "thought" });
        return (first = m);
      }
      answer(first, "42");
      say({ type: "typing.stop", payload: { request_id: first.id } });
    });`);
    const accepted = harness.say("hello");
    expect(await harness.seen.next("typing")).toMatchObject({ what: "typing", on: true });
    expect((await harness.seen.next("the thought")).message).toMatchObject({
      kind: "thought",
      content: "let me see",
    });
    expect(harness.status().answered).toBe(0);
    harness.say("well?", "another").catch(() => undefined);
    expect((await harness.seen.next("the reply")).message?.content).toBe("42");
    expect(await accepted).toBe("accepted");
    expect(await harness.seen.next("typing")).toMatchObject({ what: "typing", on: false });
  });

  test("add the result of a tool call in an update", async () => {
    await using harness = await startProgram(`each((m) => {
      const call = { id: "c", function: { name: "look", arguments: "{}" } };
      const fields = { message_id: "t", content: "", tool_calls: [call] };
      answer(m, "", { ...fields, kind: "tool_calls", final: false });
      const tool_calls = [{ ...call, result: { color: "blue" } }];
      say({ type: "message.update", payload: { ...fields, tool_calls, final: true } });
      answer(m, "done");
    });`);
    await harness.deliver({ id: "a" });
    const call = { id: "c", name: "look", arguments: "{}" };
    const first = await harness.seen.next("the call");
    expect(first).toMatchObject({ message: { toolCalls: [call] } });
    const { message } = await harness.seen.next("the result");
    expect(message).toMatchObject({
      kind: "tool_calls",
      toolCalls: [{ ...call, result: '{"color":"blue"}' }],
    });
  });

  test("keep the kind of a thought in its updates", async () => {
    await using harness = await startProgram(`let first; each((m) => {
      if (first) return answer(first, "42");
      answer((first = m), "let", { kind: "thought", message_id: "t", final: false });
      say({
        type: "message.update",
        payload: { message_id: "t", content: "let me see", final: true },
      });
    });`);
    const accepted = harness.say("hello");
    await harness.seen.next("the thought");
    expect((await harness.seen.next("its end")).message).toEqual({
      content: "let me see",
      added: " me see",
      kind: "thought",
      inReplyTo: "m1",
      final: true,
    });
    expect(harness.status().answered).toBe(0);
    harness.say("well?", "another").catch(() => undefined);
    expect((await harness.seen.next("the reply")).message?.content).toBe("42");
    expect(await accepted).toBe("accepted");
  });

  test("can be unsolicited and can be deleted", async () => {
    await using harness = await startProgram(`
      say({
        type: "message.create", channel: "sample", session_id: "ann",
        payload: { message_id: "n", content: "news" },
      });
      say({ type: "message.delete", payload: { message_id: "n" } });
      each(() => {});`);
    const { session, id, message } = await harness.seen.next("the news");
    expect([session, message?.content]).toEqual(["ann", "news"]);
    expect(await harness.seen.next("the end of it")).toMatchObject({ what: "remove", id });
  });

  test("report an error with the sentence of the program", async () => {
    await using harness = await startProgram(
      `each((m) => say({
        type: "error",
        payload: { request_id: m.id, message: "not today\\u001b[31m" },
      }));`,
    );
    await expect(harness.say("hello")).rejects.toMatchObject({
      code: "application_refused",
      message: "not today",
    });
    expect(harness.status()).toMatchObject({ answered: 0, failed: 1 });
  });

  test("allow the session's next message after an acknowledgement", async () => {
    await using harness = await startProgram(`let first; each((m) => {
      if (!first) {
        first = m;
        return say({ type: "message.ack", payload: { request_id: m.id } });
      }
      answer(first, "stopped"); answer(m, "by " + m.payload.content);
    });`);
    expect(await harness.say("work")).toBe("accepted");
    expect(harness.status().inWork).toBe(1);
    await harness.say("stop");
    expect((await harness.seen.next("a reply")).message).toMatchObject({
      content: "stopped",
      inReplyTo: "m1",
    });
    expect((await harness.seen.next("a reply")).message).toMatchObject({
      content: "by stop",
      inReplyTo: "m2",
    });
  });

  test("finish with a final acknowledgement", async () => {
    await using harness = await startProgram(
      `each((m) => say({ type: "message.ack", payload: { request_id: m.id, final: true } }));`,
    );
    await harness.say("a note");
    await waitFor(() => harness.status().answered === 1);
    expect(harness.status().inWork).toBe(0);
  });

  test("run sessions in parallel and each session in order", async () => {
    await using harness = await startProgram(`const slow = []; each((m) => {
      if (m.session_id === "slow") slow.push(m); else answer(m, m.payload.content);
      if (m.payload.content === "last") for (const each of slow) answer(each, "at last");
    });`);
    const waiting = [harness.say("1", "slow"), harness.say("2", "slow")];
    for (const text of ["1", "2", "last"]) await harness.say(text, "quick");
    const sessions = [];
    for (let i = 0; i < 4; i++) sessions.push((await harness.seen.next("a reply")).session);
    expect(sessions).toEqual(["quick", "quick", "quick", "slow"]);
    await waiting[0];
    expect(harness.status()).toMatchObject({ inWork: 1, queued: 0 });
    await Promise.allSettled([harness.stop(), ...waiting]);
  });

  test("keep an answer that arrived while this process was suspended", async () => {
    await using harness = await startProgram(
      `each((m) => {
        say({ type: "typing.start", payload: { request_id: m.id } });
        setTimeout(() => answer(m, "in time"), 500);
      });`,
      { timeoutS: 1 },
    );
    const said = harness.say("hello");
    await harness.seen.next("typing");
    // The program answers in this time, and the timer is due before its answer was read.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
    await expect(said).resolves.toBe("accepted");
    expect((await harness.seen.next("the answer")).message?.content).toBe("in time");
  });

  test("fail after the timeout and drop late replies", async () => {
    const clock = createStoppedClock();
    await using harness = await startProgram(
      `let slow; each((m) => {
      if (!slow) return (slow = m);
      answer(slow, "late"); answer(m, "in time");
    });`,
      { timeoutS: 0.7 },
      {},
      clock,
    );
    const slow = harness.say("slow");
    await waitFor(() => harness.status().inWork === 1);
    clock.increment(700);
    await expect(slow).rejects.toMatchObject({
      code: "no_answer",
      message: "The program did not respond to this message within 0.7 s.",
    });
    expect(await harness.say("quick")).toBe("accepted");
    expect(harness.lines.map(({ text }) => text)).toContain(
      "the program replied to an unknown message or to one that has failed",
    );
    expect((await harness.seen.next("the reply")).message?.content).toBe("in time");
  });
});
