import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startProgram, waitFor } from "../../support/program-harness.ts";

/** Reports each line on stderr, and answers as the text of the message says. */
const ready = `say({ type: "ready", payload: { can: ["stop"] } });`;
const script = `${ready}
  const held = new Map();
  each((m) => {
    console.error(m.type + " " + m.id);
    if (m.type === "message.stop") {
      const known = held.get(m.id);
      if (known === "ends") say({ type: "message.ack", payload: { request_id: m.id, final: true } });
      return;
    }
    held.set(m.id, m.payload.content);
    if (m.payload.content === "quick") return answer(m, "done");
    if (m.payload.content === "silent") return;
    say({ type: "typing.start", payload: { request_id: m.id } });
    answer(m, "one", { message_id: "r" + m.id, final: false });
    answer(m, "hmm", { message_id: "p" + m.id, placeholder: true });
  });`;

type Harness = Awaited<ReturnType<typeof startProgram>>;
const received = (harness: Harness) => harness.status().stderr.map(({ text }) => text);
const seen = (harness: Harness, line: string) => waitFor(() => received(harness).includes(line));
const rejected = (sent: Promise<unknown>) =>
  sent.then(String, ({ code }: { code: string }) => code);

describe("stop of a message that a program answers", () => {
  test("never writes a message that the program has not received", async () => {
    await using harness = await startProgram(script);
    const first = harness.deliver({ id: "a", content: "silent" });
    const second = rejected(harness.deliver({ id: "b", content: "silent" }));
    first.catch(() => undefined);
    await seen(harness, "message.send 1");
    expect(harness.status()).toMatchObject({ inWork: 1, queued: 1 });
    void harness.halt("b");
    expect(await second).toBe("stopped");
    expect(harness.status()).toMatchObject({ inWork: 1, queued: 0, stopped: 1, failed: 0 });
    await harness.deliver({ id: "c", content: "quick", session: "other" });
    await seen(harness, "message.send 3");
    expect(received(harness)).toEqual(["message.send 1", "message.send 3"]);
  });

  test("writes the line once the program has said that it knows it", async () => {
    await using harness = await startProgram(`each((m) => {
      console.error(m.type + " " + m.id);
      if (m.payload.content === "go") say({ type: "ready", payload: { can: ["stop"] } });
    });`);
    const first = rejected(harness.deliver({ id: "a", content: "early" }));
    await seen(harness, "message.send 1");
    expect(await harness.halt("a")).toEqual([{ id: "a", status: "stopping" }]);
    expect(await first).toBe("stopped");
    harness.deliver({ id: "b", content: "go", session: "other" }).catch(() => undefined);
    await seen(harness, "message.stop 1");
  });

  test("writes one line, before the next message of the session", async () => {
    await using harness = await startProgram(
      script.replace('console.error(m.type + " " + m.id)', "console.error(JSON.stringify(m))"),
    );
    const first = rejected(harness.deliver({ id: "a", content: "ends" }));
    harness.deliver({ id: "b", content: "silent" }).catch(() => undefined);
    await harness.seen.next("typing");
    expect(await harness.halt("a", { id: "owner" })).toEqual([{ id: "a", status: "stopping" }]);
    expect(await harness.halt("a", { id: "token:pico" })).toEqual([
      { id: "a", status: "stopping" },
    ]);
    expect(await first).toBe("stopped");
    await waitFor(() => received(harness).length === 3);
    const lines = received(harness).map((text) => JSON.parse(text) as { type: string });
    expect(lines.map(({ type }) => type)).toEqual(["message.send", "message.stop", "message.send"]);
    expect(lines[1]).toEqual({
      type: "message.stop",
      id: "1",
      channel: "sample",
      session_id: "s",
      payload: { by: { id: "owner" }, reason: "user" },
    });
  });

  test("ends growing replies with their text, then the answer", async () => {
    await using harness = await startProgram(script);
    rejected(harness.deliver({ id: "a", content: "ends" })).catch(() => undefined);
    const frames = [];
    for (let index = 0; index < 3; index += 1) frames.push(await harness.seen.next("a frame"));
    expect(frames.map(({ what }) => what)).toEqual(["typing", "send", "send"]);
    void harness.halt("a");
    expect(await harness.seen.next("the text")).toMatchObject({
      what: "update",
      id: frames[1]!.id,
      message: { content: "one", final: true },
    });
    expect(await harness.seen.next("the end of the placeholder")).toMatchObject({
      what: "remove",
      id: frames[2]!.id,
    });
    expect(await harness.seen.next("typing")).toMatchObject({ what: "typing", on: false });
    expect(await harness.ends.next("the end")).toEqual({
      id: "a",
      end: { outcome: "stopped", finishReason: "stopped", messages: 2 },
    });
    expect(await harness.halt("a")).toEqual([{ id: "a", status: "over" }]);
    expect(harness.status()).toMatchObject({ inWork: 0, stopped: 1, answered: 0 });
  });

  test("drops and counts later lines, except deletions", async () => {
    await using harness = await startProgram(`${ready} each((m) => {
      const payload = { message_id: "a" };
      if (m.type === "message.send" && m.payload.content === "next") return answer(m, "next");
      if (m.type === "message.send") return answer(m, "one", { ...payload, final: false });
      say({ type: "message.update", payload: { ...payload, content: "one two" } });
      say({ type: "message.append", payload: { ...payload, content: " three" } });
      answer(m, "more", { message_id: "b", final: false });
      say({ type: "message.update", payload: { message_id: "b", content: "more text" } });
      say({ type: "typing.start", payload: { request_id: m.id } });
      say({ type: "message.update", payload: { ...payload, content: "all", final: true } });
      answer(m, "late");
      say({ type: "message.delete", payload });
    });`);
    rejected(harness.deliver({ id: "a" })).catch(() => undefined);
    const { id } = await harness.seen.next("the beginning");
    void harness.halt("a");
    expect((await harness.seen.next("the final frame")).message?.content).toBe("one");
    expect(await harness.seen.next("the deletion")).toMatchObject({ what: "remove", id });
    expect((await harness.ends.next("the end")).end).toMatchObject({ outcome: "stopped" });
    await harness.deliver({ id: "b", content: "next" });
    expect((await harness.seen.next("the next reply")).message?.content).toBe("next");
    expect(harness.status().dropped).toBe(7);
    expect(harness.lines.filter(({ level }) => level === "warn")).toEqual([]);
  });

  test("keeps the outcome of a reply after its final text", async () => {
    let release: (() => void) | undefined;
    await using harness = await startProgram(
      `each((m) => {
        answer(m, "one", { message_id: "a", final: false });
        say({ type: "message.update", payload: { message_id: "a", content: "all", final: true } });
      });`,
      {},
      {
        update: (_session, id) =>
          new Promise((done) => (release = () => done({ id, status: "written" }))),
      },
    );
    rejected(harness.deliver({ id: "a" })).catch(() => undefined);
    await harness.seen.next("the beginning");
    await waitFor(() => release);
    expect(await harness.halt("a")).toEqual([{ id: "a", status: "stopping" }]);
    release!();
    expect((await harness.ends.next("the end")).end.outcome).toBe("completed");
  });

  test("reports a program that does not end the reply in time", async () => {
    await using harness = await startProgram(script, { stopGraceS: 0.05 });
    const timedOut: object[] = [];
    harness.kernel.on("channels:stop-timed-out", (event) => void timedOut.push(event));
    const sent = rejected(harness.deliver({ id: "a", content: "silent" }));
    await seen(harness, "message.send 1");
    void harness.halt("a");
    expect(await sent).toBe("stopped");
    expect((await harness.ends.next("the end")).end.outcome).toBe("stopped");
    expect(timedOut).toEqual([{ channel: "sample", session: "s", id: "a", seconds: 0.05 }]);
    expect(harness.lines.filter(({ text }) => /did not end a stopped/.test(text))).toHaveLength(1);
    expect(harness.status()).toMatchObject({ stopTimeouts: 1, inWork: 0, state: "running" });
    const { pid } = harness.status();
    expect(harness.kernel.services.program.restart()).toBe(true);
    await waitFor(() => harness.status().restarts === 1 && harness.status().stopTimeouts === 0);
    expect(harness.status().pid).not.toBe(pid);
  });

  test("forgets an ignored stop when the program ends the reply late", async () => {
    await using harness = await startProgram(
      `let first; each((m) => {
        if (!first) return void (first = m);
        answer(first, "late");
        answer(m, "here");
      });`,
      { stopGraceS: 0.05 },
    );
    rejected(harness.deliver({ id: "a" })).catch(() => undefined);
    await waitFor(() => harness.status().inWork === 1);
    void harness.halt("a");
    await waitFor(() => harness.status().stopTimeouts === 1);
    await harness.deliver({ id: "b" });
    expect((await harness.seen.next("the reply")).message?.content).toBe("here");
    expect(harness.status()).toMatchObject({
      stopTimeouts: 0,
      dropped: 1,
      answered: 1,
      stopped: 1,
    });
  });

  test("ends when the program exits", async () => {
    await using harness = await startProgram(
      `${ready} each((m) => {
        if (m.type === "message.stop") process.exit(0);
        say({ type: "typing.start", payload: { request_id: m.id } });
      });`,
    );
    const sent = rejected(harness.deliver({ id: "a" }));
    await harness.seen.next("typing, after ready");
    void harness.halt("a");
    expect(await sent).toBe("stopped");
    expect((await harness.ends.next("the end")).end.outcome).toBe("stopped");
    expect(harness.status()).toMatchObject({ stopped: 1, failed: 0 });
  });
});

describe("stop of a message that a program without stop answers", () => {
  test("adds no line to its input and shows nothing further", async () => {
    await using harness = await startProgram(`const held = []; each((m) => {
      console.error(m.type + " " + m.payload.content.length);
      held.push(m);
      if (held.length === 1) answer(m, "one", { message_id: "a", final: false });
      else for (const each of held) answer(each, "two");
    });`);
    const first = rejected(harness.deliver({ id: "a" }));
    await harness.seen.next("the beginning");
    void harness.halt("a");
    expect(await first).toBe("stopped");
    expect((await harness.seen.next("the text")).message).toMatchObject({
      content: "one",
      final: true,
    });
    expect(await harness.deliver({ id: "b" })).toBe("accepted");
    expect((await harness.seen.next("the next reply")).message).toEqual({
      content: "two",
      inReplyTo: "b",
    });
    await waitFor(() => received(harness).length >= 2);
    expect(received(harness)).toEqual(["message.send 5", "message.send 5"]);
    expect(harness.status()).toMatchObject({ dropped: 1, stopped: 1, answered: 1, restarts: 0 });
  });
});

describe("examples/programs/stream.mjs", () => {
  test("honours a stop and continues with the next message", async () => {
    const example = join(import.meta.dirname, "../../../examples/programs/stream.mjs");
    await using harness = await startProgram("", { command: [process.execPath, example] });
    const words = "word ".repeat(1_000);
    expect(await harness.deliver({ id: "a", content: words })).toBe("accepted");
    await harness.seen.next("the beginning");
    expect(harness.status().knowsStop).toBe(true);
    void harness.halt("a");
    expect((await harness.ends.next("the end")).end.outcome).toBe("stopped");
    await harness.deliver({ id: "b", content: "two words" });
    for (;;) {
      const { message } = await harness.seen.next("a frame");
      if (message?.content === "You asked: two words.") break;
    }
    expect(harness.status()).toMatchObject({ stopped: 1, stopTimeouts: 0 });
  });
});

describe("ready", () => {
  test("states what the running program can do, once per start", async () => {
    await using harness = await startProgram(`
      say({ type: "ready", payload: { can: ["stop", "future"] } });
      say({ type: "ready", payload: { can: [] } });
      each((m) => m.payload.content === "crash" ? process.exit(1) : answer(m, "hi"));`);
    await harness.deliver({ id: "a" });
    expect(harness.status().knowsStop).toBe(true);
    expect(harness.lines.filter(({ stream }) => stream === "stdout")).toMatchObject([
      { reason: "a second ready line" },
    ]);
    harness.deliver({ id: "b", content: "crash" }).catch(() => undefined);
    await waitFor(() => harness.status().state === "waiting");
    expect(harness.status().knowsStop).toBe(false);
  });

  test("defaults to a program without stop", async () => {
    await using harness = await startProgram("each((m) => answer(m, 'hi'));");
    await harness.deliver({ id: "a" });
    expect(harness.status()).toMatchObject({ knowsStop: false, stopTimeouts: 0, dropped: 0 });
  });
});

describe("Program.restart", () => {
  test("starts a program that has ended, and passes it the next message", async () => {
    await using harness = await startProgram(
      "each((m) => m.payload.content === 'crash' ? process.exit(0) : answer(m, 'hi'));",
      { restart: "never" },
    );
    harness.deliver({ id: "a", content: "crash" }).catch(() => undefined);
    await waitFor(() => harness.status().state === "ended");
    expect(harness.kernel.services.program.restart()).toBe(true);
    expect(await harness.deliver({ id: "b" })).toBe("accepted");
    const { program } = harness.kernel.services;
    await harness.stop();
    expect(program.restart()).toBe(false);
  });

  test("restarts a running program despite the setting never", async () => {
    await using harness = await startProgram("each((m) => answer(m, String(process.pid)));", {
      restart: "never",
    });
    await harness.deliver({ id: "a" });
    const before = (await harness.seen.next("the reply")).message?.content;
    expect(harness.kernel.services.program.restart()).toBe(true);
    expect(harness.kernel.services.program.restart()).toBe(false);
    await harness.deliver({ id: "b" });
    expect((await harness.seen.next("the reply")).message?.content).not.toBe(before);
    expect(harness.status().lastEnd).toContain("the owner restarted it");
  });
});
