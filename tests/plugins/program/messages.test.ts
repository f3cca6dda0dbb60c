import { describe, expect, test } from "vitest";
import { createStoppedClock } from "../../../kernel/testing.ts";
import { stand, until } from "../../support/program-harness.ts";

const echo = "each((m) => answer(m, 'you said ' + m.payload.content));";

describe("a program answers", () => {
  test("a line with the message's id goes back where the message came from, and the message is accepted", async () => {
    await using door = await stand(echo);
    expect(await door.say("hello", "ann")).toBe("accepted");
    const { session, message } = await door.seen.next("the answer");
    expect([session, message]).toEqual(["ann", { content: "you said hello", inReplyTo: "m1" }]);
    await until(() => door.status().answered === 1);
  });

  test("it is given the message as Pico has it, with images as data URLs and the sender's own id", async () => {
    await using door = await stand("each((m) => answer(m, JSON.stringify(m)));");
    await door.say("grüß\n\u2028dich", "ann", "client-7");
    const { message } = await door.seen.next("the answer");
    expect(JSON.parse(message!.content)).toEqual({
      type: "message.send",
      id: "1",
      channel: "toy",
      session_id: "ann",
      timestamp: 0,
      payload: { content: "grüß\n\u2028dich", client_id: "client-7" },
    });
  });

  test("passes every documented field of an answer", async () => {
    await using door = await stand(`each((m) => answer(m, "hi", {
      model_name: "large",
      context_usage: {
        used_tokens: 1, total_tokens: 2, history_tokens: 3,
        compress_at_tokens: 4, summarize_at_tokens: 5, used_percent: 50,
      },
      attachments: [
        { type: "image", url: "https://example.org/a", filename: "a.png" },
        { type: "file", url: "data:text/plain;base64,aGk=", filename: "b.txt", content_type: "text/plain" },
      ],
    }));`);
    await door.say("hello");
    expect((await door.seen.next("the answer")).message).toEqual({
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

  test("passes a placeholder, which is not the answer", async () => {
    await using door = await stand(`each((m) => {
      answer(m, "Thinking", { message_id: "a", placeholder: true });
      if (m.payload.content === "wait") return setTimeout(() => process.exit(0), 50);
      say({ type: "message.update", payload: { message_id: "a", content: "42", final: true } });
    });`);
    const accepted = door.say("hello");
    const { id, message } = await door.seen.next("the placeholder");
    expect(message).toEqual({
      content: "Thinking",
      placeholder: true,
      final: false,
      inReplyTo: "m1",
    });
    expect(await door.seen.next("the answer")).toMatchObject({
      what: "update",
      id,
      message: { content: "42", final: true },
    });
    expect(await accepted).toBe("accepted");
    door.say("wait").catch(() => undefined);
    const second = await door.seen.next("the placeholder");
    expect(await door.seen.next("its end")).toMatchObject({ what: "remove", id: second.id });
  });

  test("is told the filenames of the media it gets", async () => {
    await using door = await stand("each((m) => answer(m, JSON.stringify(m.payload)));");
    const media = [
      { type: "image/png", bytes: Buffer.from("hi"), filename: "cat.png" },
      { type: "image/gif", bytes: Buffer.from("ho") },
    ];
    await door.say("look", "s", "m1", media);
    const { message } = await door.seen.next("the answer");
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

  test("a message that grows is created once, updated with its text so far and ends with final", async () => {
    await using door = await stand(
      `each((m) => {
      answer(m, "one", { message_id: "a", final: false });
      for (let i = 0; i < 500; i++) say({ type: "message.update", payload: { message_id: "a", content: "one " + i } });
      say({ type: "message.update", payload: { message_id: "a", content: "one two", final: true } });
    });`,
      {},
      {},
      createStoppedClock(),
    );
    const accepted = door.say("hello");
    const { id, message } = await door.seen.next("the beginning");
    const began = performance.now();
    expect(message).toMatchObject({ content: "one", final: false });
    const updates = [];
    do updates.push(await door.seen.next("an update"));
    while (updates.at(-1)!.message!.final !== true);
    expect(updates.every((update) => update.what === "update" && update.id === id)).toBe(true);
    expect(updates.at(-1)!.message!.content).toBe("one two");
    expect(updates.length).toBeLessThanOrEqual(3 + (performance.now() - began) / 100); // nine a second
    expect(await accepted).toBe("accepted");
  });

  test("thoughts and typing come before the answer and are none", async () => {
    await using door = await stand(`let first; each((m) => {
      if (!first) {
        say({ type: "typing.start", payload: { request_id: m.id } });
        answer(m, "let me see", { kind: "thought" });
        return (first = m);
      }
      answer(first, "42");
      say({ type: "typing.stop", payload: { request_id: first.id } });
    });`);
    const accepted = door.say("hello");
    expect(await door.seen.next("typing")).toMatchObject({ what: "typing", on: true });
    expect((await door.seen.next("the thought")).message).toMatchObject({
      kind: "thought",
      content: "let me see",
    });
    expect(door.status().answered).toBe(0);
    door.say("well?", "another").catch(() => undefined);
    expect((await door.seen.next("the answer")).message?.content).toBe("42");
    expect(await accepted).toBe("accepted");
    expect(await door.seen.next("typing")).toMatchObject({ what: "typing", on: false });
  });

  test("a thought that grows stays one in its updates, and its end is not that of the answer", async () => {
    await using door = await stand(`let first; each((m) => {
      if (first) return answer(first, "42");
      answer((first = m), "let", { kind: "thought", message_id: "t", final: false });
      say({ type: "message.update", payload: { message_id: "t", content: "let me see", final: true } });
    });`);
    const accepted = door.say("hello");
    await door.seen.next("the thought");
    expect((await door.seen.next("its end")).message).toEqual({
      content: "let me see",
      kind: "thought",
      inReplyTo: "m1",
      final: true,
    });
    expect(door.status().answered).toBe(0);
    door.say("well?", "another").catch(() => undefined);
    expect((await door.seen.next("the answer")).message?.content).toBe("42");
    expect(await accepted).toBe("accepted");
  });

  test("a message it has created can be taken away, also without being asked it can speak", async () => {
    await using door = await stand(`
      say({ type: "message.create", channel: "toy", session_id: "ann", payload: { message_id: "n", content: "news" } });
      say({ type: "message.delete", payload: { message_id: "n" } });
      each(() => {});`);
    const { session, id, message } = await door.seen.next("the news");
    expect([session, message?.content]).toEqual(["ann", "news"]);
    expect(await door.seen.next("the end of it")).toMatchObject({ what: "remove", id });
  });

  test("its refusal is an error with its own sentence", async () => {
    await using door = await stand(
      `each((m) => say({ type: "error", payload: { request_id: m.id, message: "not today\\u001b[31m" } }));`,
    );
    await expect(door.say("hello")).rejects.toMatchObject({
      code: "application_refused",
      message: "not today",
    });
    expect(door.status()).toMatchObject({ answered: 0, failed: 1 });
  });

  test("an acknowledgement accepts, and the session's next message comes while the first is in work", async () => {
    await using door = await stand(`let first; each((m) => {
      if (!first) { first = m; return say({ type: "message.ack", payload: { request_id: m.id } }); }
      answer(first, "stopped"); answer(m, "by " + m.payload.content);
    });`);
    expect(await door.say("work")).toBe("accepted");
    expect(door.status().inWork).toBe(1);
    await door.say("stop");
    expect((await door.seen.next("an answer")).message).toMatchObject({
      content: "stopped",
      inReplyTo: "m1",
    });
    expect((await door.seen.next("an answer")).message).toMatchObject({
      content: "by stop",
      inReplyTo: "m2",
    });
  });

  test("an acknowledgement that is final says that no answer follows", async () => {
    await using door = await stand(
      `each((m) => say({ type: "message.ack", payload: { request_id: m.id, final: true } }));`,
    );
    await door.say("a note");
    await until(() => door.status().answered === 1);
    expect(door.status().inWork).toBe(0);
  });

  test("sessions run side by side, each in order", async () => {
    await using door = await stand(`const slow = []; each((m) => {
      if (m.session_id === "slow") slow.push(m); else answer(m, m.payload.content);
      if (m.payload.content === "last") for (const each of slow) answer(each, "at last");
    });`);
    const waiting = [door.say("1", "slow"), door.say("2", "slow")];
    for (const text of ["1", "2", "last"]) await door.say(text, "quick");
    const heard = [];
    for (let i = 0; i < 4; i++) heard.push((await door.seen.next("an answer")).session);
    expect(heard).toEqual(["quick", "quick", "quick", "slow"]);
    await waiting[0];
    expect(door.status()).toMatchObject({ inWork: 1, queued: 0 });
    await Promise.allSettled([door.stop(), ...waiting]);
  });

  test("no sign of a message for the time is an error that says so, and what comes too late goes nowhere", async () => {
    const clock = createStoppedClock();
    await using door = await stand(
      `let slow; each((m) => {
      if (!slow) return (slow = m);
      answer(slow, "late"); answer(m, "in time");
    });`,
      { timeoutS: 0.7 },
      {},
      clock,
    );
    const slow = door.say("slow");
    await until(() => door.status().inWork === 1);
    clock.increment(700);
    await expect(slow).rejects.toMatchObject({
      code: "no_answer",
      message: "The program gave no sign of this message for 0.7 s.",
    });
    expect(await door.say("quick")).toBe("accepted");
    expect(door.lines.map(({ text }) => text)).toContain(
      "the program answers a message nobody awaits",
    );
    expect((await door.seen.next("the answer")).message?.content).toBe("in time");
  });
});

describe("what a program writes beside its messages", () => {
  test("updates of a message that was never created are told of once", async () => {
    await using door = await stand(`each((m) => {
      for (const content of ["a", "b", "c"]) {
        console.log(JSON.stringify({ type: "message.update", payload: { message_id: "gone", content } }));
      }
      answer(m, m.payload.content);
    });`);
    await door.say("hello");
    expect(
      door.lines.filter(({ text }) => text === "the program updates a message it has not created"),
    ).toHaveLength(1);
  });

  test("lines that are no messages go to the log, with one warning that shows the form", async () => {
    await using door = await stand(`
      console.log("Loading the model"); console.log("[1, 2"); console.log(JSON.stringify({ type: "hello" }));
      console.log(JSON.stringify({ type: "message.update", payload: { content: "no name" } }));
      each((m) => answer(m, "still here"));`);
    await door.say("hello");
    const warnings = door.lines.filter(
      ({ level, text }) => level === "warn" && text.includes("docs/programs.md"),
    );
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatchObject({
      example: expect.stringContaining('"message.create"') as string,
    });
    const strays = door.lines.filter(({ stream }) => stream === "stdout");
    expect(
      strays.map(({ text, reason }) => [text.slice(0, 17), String(reason).slice(0, 22)]),
    ).toEqual([
      ["Loading the model", "not JSON"],
      ["[1, 2", "not JSON"],
      ['{"type":"hello"}', '"type": Invalid discri'],
      ['{"type":"message.', '"payload.message_id": '],
    ]);
  });

  test("a byte order mark before its first line, and ends of lines as on Windows, are none of its text", async () => {
    await using door = await stand(`
      process.stdout.write("\\ufeff");
      process.stderr.write("\\ufeffhello\\r\\n");
      each((m) => process.stdout.write(JSON.stringify(
        { type: "message.create", payload: { request_id: m.id, content: "\\ufeff" + m.payload.content } }) + "\\r\\n"));`);
    for (const content of ["one", "two"]) {
      await door.say(content);
      expect((await door.seen.next("the answer")).message).toMatchObject({
        content: `\ufeff${content}`,
      });
    }
    await until(() => door.status().stderr.length > 0);
    expect(door.lines.filter(({ stream }) => stream).map(({ text }) => text)).toEqual(["hello"]);
  });

  test("a line over 1 MiB is dropped, and the next one is read", async () => {
    await using door = await stand(`each((m) => {
      say("x".repeat(3_000_000)); answer(m, "fine");
    });`);
    await door.say("hello");
    expect((await door.seen.next("the answer")).message?.content).toBe("fine");
    expect(door.lines.some(({ reason }) => reason === "over 1 MiB")).toBe(true);
  });

  test("standard error goes to the log, cut, sampled and without control characters; its end is kept", async () => {
    const began = performance.now();
    await using door = await stand(
      `
      for (let i = 0; i < 5_000; i++) console.error("\\u001b[31mline " + i + "\\u001b[0m\\u0007");
      console.error("y".repeat(100_000)); console.error("secret-value");
      each((m) => answer(m, "done"));`,
      { redact: (text) => text.replaceAll("secret-value", "[redacted]") },
    );
    await door.say("hello");
    await until(() => door.status().stderr.at(-1)?.text === "[redacted]");
    const told = door.lines.filter(({ stream }) => stream === "stderr");
    expect(told[0]?.text).toBe("line 0");
    const seconds = (performance.now() - began) / 1_000;
    expect(told.length).toBeLessThan(200 + 10 * seconds);
    expect(Math.max(...told.map(({ text }) => text.length))).toBeLessThan(2_100);
    expect(door.status().stderr).toHaveLength(20);
  });
});

describe("pressure", () => {
  test("a program that does not read makes its senders wait, and loses nothing when it reads", async () => {
    await using door = await stand(`
      const waits = setInterval(() => {}, 60_000);
      process.once("SIGUSR2", () => {
        clearInterval(waits);
        each((m) => answer(m, String(m.payload.content.length)));
      });
      console.error("up");`);
    await until(() => door.status().stderr.length > 0);
    const said = await door.fill("x".repeat(200_000));
    process.kill(door.status().pid!, "SIGUSR2");
    expect(await Promise.all(said)).toEqual(said.map(() => "accepted"));
    expect(door.status()).toMatchObject({ answered: said.length, queued: 0, inWork: 0 });
  });

  test("a channel that is slow makes the program wait: reading stops and goes on", async () => {
    let open = 0;
    let most = 0;
    await using door = await stand(
      `each((m) => {
      for (let i = 0; i < 20_000; i++) say({ type: "message.create", session_id: "s" + i, channel: "toy",
        payload: { content: "x".repeat(200) + i } });
      answer(m, "all written");
    });`,
      {},
      {
        send: async (_, id) => {
          most = Math.max(most, (open += 1));
          await new Promise((done) => setTimeout(done, 5));
          open -= 1;
          return { id, status: "written" };
        },
      },
    );
    expect(await door.say("go")).toBe("accepted");
    expect(most).toBeLessThan(1_000);
  });
});
