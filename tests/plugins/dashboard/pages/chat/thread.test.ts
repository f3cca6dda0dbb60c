// Tests the messages of a conversation on the page and their groups.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ServerFrame } from "../../../../../lib/pico-wire/index.ts";
import type { Turn } from "../../../../../plugins/dashboard/shared/conversation-views.ts";
import { createGrouper } from "../../../../../plugins/dashboard/pages/chat/state/groups.ts";
import {
  greet,
  receive,
  rejectMessage,
  renumber,
} from "../../../../../plugins/dashboard/pages/chat/state/receive.ts";
import {
  addSent,
  emptyThread,
  isInConversation,
  setDelivery,
  type Thread,
  type UserMessage,
} from "../../../../../plugins/dashboard/pages/chat/state/thread.ts";
import { showRun } from "../../../../../plugins/dashboard/pages/chat/state/console.ts";
import { addTimes, addTurns } from "../../../../../plugins/dashboard/pages/chat/state/turns.ts";

const stoppable: Thread = { ...emptyThread, canStop: true };
const send = (thread: Thread, requestId: string, content = "hello", at = 1_000): Thread =>
  addSent(thread, { requestId, content, files: [], at });
const frame = (type: string, payload: object, rest: object = {}): ServerFrame =>
  ({ type, payload, ...rest }) as ServerFrame;
const text = (id: string, content: string, rest: object = {}, at = 2_000): ServerFrame =>
  frame("message.create", { message_id: id, content, final: true, ...rest }, { timestamp: at });
const end = (request_id: string, rest: object = {}, at = 5_000): ServerFrame =>
  frame(
    "answer.end",
    { request_id, outcome: "completed", finish_reason: "stop", ...rest },
    { timestamp: at },
  );
const apply = (thread: Thread, ...frames: readonly ServerFrame[]): Thread =>
  frames.reduce((changed, one) => receive(changed, one, 9_000), thread);
const answers = (thread: Thread) =>
  createGrouper()(thread).flatMap((row) => (row.kind === "answer" ? [row] : []));

describe("showRun", () => {
  test("keeps how an answer of another channel ended", () => {
    const common = { channel: "line", session: "s", at: 1_000, parts: [], left: 0 };
    const stopped = { ...common, id: "m1", endedMs: 50, outcome: "stopped" as const };
    const turns: Turn[] = [
      { id: "u", requestId: "m1", seq: 1, role: "user", content: "count", at: 1_000 },
      { id: "a", inReplyTo: "m1", seq: 2, role: "assistant", content: "1 2", at: 1_010 },
    ];
    const busy = showRun(addTurns(emptyThread, turns, true), true);
    expect(answers(busy)[0]!.state).toBe("working");
    const ended = showRun(addTimes(busy, [stopped]), false);
    expect(answers(ended)[0]!.state).toBe("stopped");
    expect(answers(showRun(busy, false))[0]!.state).toBe("done");
  });
});

describe("a notice", () => {
  test("belongs to its answer, and is a note without one", () => {
    const notice = { kind: "notice", content: "The agent has started again" };
    const sent = send(emptyThread, "m1");
    const thread = apply(
      sent,
      text("n", "", { ...notice, request_id: "m1" }),
      text("a", "hello", { request_id: "m1" }),
      text("alone", "", notice),
    );
    const rows = createGrouper()(thread);
    expect(rows.map(({ kind }) => kind)).toEqual(["user", "answer", "note"]);
    const [answer] = answers(thread);
    expect(answer).toMatchObject({
      segments: [{ message: { kind: "notice" } }, { message: { kind: "text" } }],
    });
    const stored: Turn[] = [
      { id: "u", requestId: "m1", seq: 1, role: "user", content: "hi", at: 1_000 },
      {
        ...{ id: "n", inReplyTo: "m1", seq: 2, role: "assistant", at: 1_010 },
        ...{ kind: "notice", content: notice.content },
      },
    ];
    const [again] = answers(addTurns(emptyThread, stored, true));
    expect(again!.segments).toMatchObject([{ message: { kind: "notice" } }]);
  });
});

describe("receive", () => {
  test("replaces a growing message and keeps its place and time", () => {
    const thread = apply(
      emptyThread,
      text("a", "It", { final: false }),
      text("b", "Other", {}, 2_100),
      frame("message.update", { message_id: "a", content: "It is", final: true }),
    );
    expect(thread.messages).toMatchObject([
      { content: "It is", at: 2_000, isFinal: true, endedAt: 9_000 },
      { content: "Other" },
    ]);
  });

  test("matches own messages with those of other devices and the history", () => {
    const turn = { message_id: "u", request_id: "q", content: "hello", media: [], attachments: [] };
    const thread = apply(send(stoppable, "q"), frame("message.user", turn, { seq: 4 }));
    const stored: Turn = { id: "u", requestId: "q", seq: 4, role: "user", content: "hello", at: 1 };
    expect(addTurns(thread, [stored]).messages).toMatchObject([
      { requestId: "q", delivery: "sending", seq: 4, at: 1_000 },
    ]);
  });

  test("ends a run only once, although the server repeats the end", () => {
    const thread = apply(send(stoppable, "q"), end("q"), end("q", {}, 9_999));
    expect(thread.runs.get("q")).toMatchObject({ startedAt: 1_000, endedAt: 5_000 });
  });

  test("follows an answer in parts that began before the page", () => {
    const part = { request_id: "q" };
    const open = { ...part, final: undefined };
    const isRunning = (thread: Thread) => thread.runs.get("q")?.endedAt === undefined;
    let thread = apply(stoppable, text("a", "one", open));
    expect(isRunning(thread)).toBe(true);
    thread = apply(thread, text("a", "one", part));
    expect(isRunning(thread)).toBe(false);
    thread = apply(thread, text("t", "", { ...part, kind: "tool_calls" }));
    expect(isRunning(thread)).toBe(true);
    thread = apply(thread, text("b", "two", part), text("t", "", { ...part, kind: "tool_calls" }));
    expect(isRunning(thread)).toBe(false);
    thread = apply(thread, end("q"), text("b", "edited", open));
    expect(thread.runs.get("q")).toMatchObject({ outcome: "completed", startedAt: 2_000 });
    expect(isRunning(thread)).toBe(false);
  });

  test("follows an answer of this page until its end is reported", () => {
    const part = { request_id: "q" };
    const thread = apply(
      send(stoppable, "q"),
      text("a", "one", part),
      text("t", "", { ...part, kind: "tool_calls", final: undefined }),
    );
    expect(answers(thread)).toMatchObject([{ state: "working" }]);
    const done = apply(thread, text("t", "", { ...part, kind: "tool_calls" }), end("q"));
    expect(answers(done)).toMatchObject([{ state: "done" }]);
  });

  test("forgets the run of a message that was not delivered", () => {
    const thread = setDelivery(send(stoppable, "q"), "q", "failed", "too large");
    expect([thread.runs.size, thread.messages[0]]).toMatchObject([
      0,
      { delivery: "failed", reason: "too large" },
    ]);
  });

  test("reads the use of the context and ignores malformed values", () => {
    const use = (context_usage: unknown) => apply(emptyThread, text("a", "", { context_usage }));
    expect(use({ used_tokens: 30, total_tokens: 120 }).contextUse).toBe(0.25);
    expect(use({ used_tokens: "x", total_tokens: 0 }).contextUse).toBeUndefined();
  });
});

describe("addTurns", () => {
  const turn = (seq: number): Turn => ({
    id: `m${seq}`,
    seq,
    role: "assistant",
    content: String(seq),
    at: seq,
  });

  test("orders live messages and pages of history by their numbers", () => {
    const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 30 }), { minLength: 1 });
    fc.assert(
      fc.property(numbers, fc.array(fc.boolean()), (all, isLive) => {
        let thread = emptyThread;
        const sorted = all.toSorted((a, b) => a - b);
        for (const [at, seq] of sorted.entries())
          if (isLive[at])
            thread = receive(thread, { ...text(`m${seq}`, String(seq)), seq } as ServerFrame, 0);
        const split = Math.floor(all.length / 2);
        thread = addTurns(thread, sorted.slice(split).map(turn));
        thread = addTurns(thread, sorted.slice(0, split).map(turn));
        expect(thread.messages.map(({ content }) => Number(content))).toEqual(sorted);
      }),
    );
  });

  test("completes a message whose end was missed, and keeps newer text", () => {
    const live = apply(emptyThread, text("m1", "half", { final: false }), text("m2", "new"));
    const { messages } = addTurns(live, [
      { ...turn(1), content: "whole" },
      { ...turn(2), content: "old" },
    ]);
    expect(messages.map(({ content }) => content)).toEqual(["whole", "new"]);
  });
});

describe("createGrouper", () => {
  test("joins steps and texts of one request, also if two answers interleave", () => {
    const thread = apply(
      send(send(stoppable, "q"), "r"),
      text("t", "hmm", { kind: "thought", request_id: "q" }, 1_300),
      text("x", "other", { request_id: "r" }),
      text("c", "", { kind: "tool_calls", request_id: "q", tool_calls: [{ name: "f" }] }, 1_400),
      text("a", "done", { request_id: "q" }, 1_900),
      end("q"),
    );
    const [first, second] = answers(thread);
    expect(first).toMatchObject({
      state: "done",
      question: { requestId: "q" },
      segments: [{ kind: "steps", steps: [{ ms: 300 }, { ms: 500 }] }, { kind: "text" }],
    });
    expect(second).toMatchObject({ state: "working", segments: [{ kind: "text" }] });
  });

  test("shows a waiting answer, and none after a silent end", () => {
    const waiting = send(stoppable, "q");
    expect(answers(waiting)).toMatchObject([{ state: "working", segments: [] }]);
    expect(answers(apply(waiting, end("q")))).toEqual([]);
    expect(answers(apply(waiting, end("q", { outcome: "failed", code: "x" })))).toMatchObject([
      { state: "failed" },
    ]);
    const stopped = end("q", { outcome: "stopped", finish_reason: "stopped" });
    expect(answers(apply(waiting, stopped))).toMatchObject([{ state: "stopped" }]);
  });

  test("marks stored text without its end as incomplete", () => {
    const turn: Turn = {
      id: "a",
      seq: 1,
      role: "assistant",
      content: "par",
      complete: false,
      at: 1,
    };
    expect(answers(addTurns(emptyThread, [turn]))).toMatchObject([{ state: "incomplete" }]);
  });

  test("keeps the identity of unchanged answers", () => {
    const group = createGrouper();
    const one = apply(stoppable, text("a", "first", { request_id: "q" }));
    const two = apply(one, text("b", "second", { request_id: "r" }));
    expect(group(two)[0]).toBe(group(one)[0]);
    expect(group(apply(two, text("a", "again", { request_id: "q" })))[0]).not.toBe(group(two)[0]);
  });
});

describe("greet", () => {
  const hello = (running?: object[], seq = 4) => ({
    seq,
    can: ["append", "stop", "turns"],
    ...(running && { running: running as { request_id: string; at: number }[] }),
  });
  const none = new Map<string, unknown>();

  test("begins the runs that the server lists and forgets all others", () => {
    const before = send(send(send(stoppable, "old"), "pending"), "over");
    const ended = apply(before, end("over"));
    const unconfirmed = new Map([["pending", {}]]);
    const thread = greet(ended, hello([{ request_id: "new", at: 7 }]), unconfirmed);
    expect([...thread.runs.keys()].toSorted()).toEqual(["new", "over", "pending"]);
    expect(thread.runs.get("new")).toEqual({ startedAt: 7, isReported: true });
    expect(thread.canStop).toBe(true);
  });

  test("keeps a known end, and all runs without a list", () => {
    const ended = apply(send(stoppable, "q"), end("q"));
    const thread = greet(ended, hello([{ request_id: "q", at: 7 }]), none);
    expect(thread.runs.get("q")?.endedAt).toBe(5_000);
    expect(greet(send(stoppable, "q"), hello(), none).runs.has("q")).toBe(true);
  });

  test("lets repeated frames begin no run", () => {
    const turn = { message_id: "u", request_id: "q", content: "a", media: [], attachments: [] };
    const joined = greet(emptyThread, hello([]), none);
    const repeated = apply(joined, frame("message.user", turn, { seq: 4, epoch: "e" }));
    expect(repeated.runs.size).toBe(0);
    const next = apply(joined, frame("message.user", turn, { seq: 5, epoch: "e" }));
    expect(next.runs.get("q")?.endedAt).toBeUndefined();
    expect(next.runs.size).toBe(1);
  });
});

describe("Order of turns", () => {
  const turn = (seq: number): Turn => ({
    ...{ id: `u${seq}`, requestId: `q${seq}`, seq, role: "user", content: `q${seq}`, at: seq },
  });
  const answer = (seq: number): Turn => ({
    ...{ id: `a${seq}`, inReplyTo: `q${seq - 1}`, seq, role: "assistant", content: "", at: seq },
  });
  const outline = (thread: Thread) =>
    createGrouper()(thread).map((row) =>
      row.kind === "answer" ? `answer ${row.requestId}` : row.content,
    );

  test("shows a cut answer of the history as stopped", () => {
    const cut: Turn = { ...answer(2), complete: false, outcome: "stopped", code: "not_running" };
    const stateOf = (thread: Thread) =>
      createGrouper()(thread).flatMap((row) => (row.kind === "answer" ? [row.state] : []));
    const read = addTurns(emptyThread, [turn(1), cut]);
    expect(stateOf(read)).toEqual(["stopped"]);
    // The channel may deliver the answer first, without its outcome.
    const partial = text("a2", "half", { request_id: "q1", final: false });
    const channel = greet(apply(emptyThread, partial), { running: [] }, new Map());
    const first = addTurns(channel, [turn(1), cut]);
    expect(stateOf(first)).toEqual(["stopped"]);
    const again = greet(read, { running: [{ request_id: "q1", at: 3 }] }, new Map());
    expect(stateOf(again)).toEqual(["working"]);
    const lost: Turn = { ...answer(2), complete: false };
    expect(stateOf(addTurns(emptyThread, [turn(1), lost]))).toEqual(["incomplete"]);
  });

  test("shows all stored text of a killed answer in any order", () => {
    const stored: Turn = { ...answer(2), content: "half of it", complete: false };
    const joined = greet(emptyThread, { seq: 2, running: [] }, new Map());
    const beginning = frame(
      "message.create",
      { message_id: "a2", request_id: "q1", content: "half" },
      { seq: 2, epoch: "e" },
    );
    const textOf = (thread: Thread) => thread.messages.map((message) => message.content).at(-1);
    const read = (thread: Thread): Thread => addTurns(thread, [turn(1), stored]);
    expect(textOf(apply(read(joined), beginning))).toBe("half of it");
    expect(textOf(read(apply(joined, beginning)))).toBe("half of it");
    const grown = text("a2", "half of it all", { request_id: "q1", final: false });
    expect(textOf(read(apply(joined, beginning, grown)))).toBe("half of it all");
  });

  test("follows the conversation, whatever arrives first", () => {
    const turns = [turn(1), answer(2), turn(3), answer(4), turn(5), answer(6)];
    const steps = turns.map(
      (one) =>
        (thread: Thread): Thread =>
          addTurns(thread, [one]),
    );
    const partial = text("a6", "half", { request_id: "q5", final: false });
    const all = [...steps, (thread: Thread) => apply(thread, partial)];
    const expected = ["q1", "answer q1", "q3", "answer q3", "q5", "answer q5"];
    fc.assert(
      fc.property(fc.shuffledSubarray(all, { minLength: all.length }), (order) => {
        const joined = greet(emptyThread, { running: [{ request_id: "q5", at: 1 }] }, new Map());
        expect(outline(order.reduce((thread, step) => step(thread), joined))).toEqual(expected);
      }),
    );
  });

  test("moves a message from the offline queue to its number", () => {
    const waiting = setDelivery(send(stoppable, "mine", "mine"), "mine", "waiting");
    const others = addTurns(waiting, [turn(1), answer(2)]);
    expect(outline(others)).toEqual(["q1", "answer q1", "mine"]);
    const ack = { request_id: "mine", status: "accepted" };
    const sent = apply(
      setDelivery(others, "mine", "sending"),
      frame("message.ack", ack, { seq: 3 }),
    );
    expect(outline(addTurns(sent, [turn(4)]))).toEqual([
      ...["q1", "answer q1", "mine", "answer mine", "q4"],
    ]);
  });

  test("continues after a restart of the numbers", () => {
    const before = addTurns(emptyThread, [turn(7), answer(8)]);
    const after = addTurns(renumber(before), [turn(1), answer(2)]);
    expect(outline(after)).toEqual(["q7", "answer q7", "q1", "answer q1"]);
  });

  test("shows work on an unknown message at the end", () => {
    const running = [{ request_id: "unknown", at: 9 }];
    const thread = addTurns(greet(emptyThread, { running }, new Map()), [turn(1), answer(2)]);
    expect(outline(thread)).toEqual(["q1", "answer q1", "answer unknown"]);
    expect(answers(thread).at(-1)).toMatchObject({ state: "working", at: 9 });
  });
});

describe("State of a turn", () => {
  const sent = (thread: Thread) => thread.messages.find(({ kind }) => kind === "user");

  test("has no run while a message waits for the connection", () => {
    const waiting = setDelivery(send(stoppable, "q"), "q", "waiting");
    expect([waiting.runs.size, sent(waiting)]).toMatchObject([0, { delivery: "waiting" }]);
    expect(setDelivery(waiting, "q", "sending").runs.size).toBe(1);
  });

  test("leaves sending with the first line of the application", () => {
    const first = [
      frame("message.update", { message_id: "a", content: "", request_id: "q" }),
      text("t", "hmm", { kind: "thought", request_id: "q" }),
    ];
    for (const one of first)
      expect(sent(apply(send(stoppable, "q"), one))).toMatchObject({ delivery: "delivered" });
    const typed = apply(send(send(stoppable, "q"), "r"), frame("typing.start", {}));
    expect(typed.messages).toMatchObject([{ delivery: "received" }, { delivery: "sending" }]);
    expect(sent(setDelivery(typed, "q", "waiting"))).toMatchObject({ delivery: "received" });
  });

  test("shows an error of the application in the answer alone", () => {
    const error = { code: "no_answer", message: "Too slow.", at: 6_000 };
    const rejected = rejectMessage(send(stoppable, "q"), "q", error);
    const failed = apply(rejected, end("q", { outcome: "failed", code: "no_answer" }));
    expect(sent(failed)).toMatchObject({ delivery: "rejected" });
    expect(answers(failed)).toMatchObject([{ state: "failed", run: { reason: "Too slow." } }]);
    const late = apply(
      setDelivery(send(stoppable, "q"), "q", "delivered"),
      frame("error", { request_id: "q", code: "internal", message: "Broken." }),
      end("q", { outcome: "failed", code: "internal" }),
    );
    expect(sent(late)).toMatchObject({ delivery: "delivered" });
    expect(answers(late)).toMatchObject([{ state: "failed", run: { code: "internal" } }]);
    expect(answers(late)).not.toMatchObject([{ run: { reason: "Broken." } }]);
  });

  test("shows the sentence of the history after the end", () => {
    const long = { code: "application_refused", message: "Two\nlines.", at: 6_000 };
    const rejected = rejectMessage(send(stoppable, "q"), "q", long);
    const failed = { outcome: "failed", code: "application_refused", message: "Two lines." };
    const ended = apply(rejected, end("q", failed));
    expect(answers(ended)).toMatchObject([{ state: "failed", run: { reason: "Two lines." } }]);
  });

  test("replaces a rejected message that is in the conversation", () => {
    const error = { code: "application_refused", message: "No.", at: 6_000 };
    const turn = { message_id: "t", request_id: "q", content: "hello", media: [], attachments: [] };
    const known = apply(send(stoppable, "q"), frame("message.user", turn, { seq: 3 }));
    const inMemory = rejectMessage(send(stoppable, "q"), "q", error);
    const stored = rejectMessage(known, "q", error);
    expect(
      [inMemory, stored].map((thread) => isInConversation(sent(thread) as UserMessage)),
    ).toEqual([false, true]);
  });

  test("shows a stop as no failure, with and without an answer", () => {
    const stop = { code: "stopped", message: "", at: 6_000 };
    const early = rejectMessage(send(stoppable, "q"), "q", stop);
    expect([sent(early), ...answers(early)]).toMatchObject([
      { delivery: "stopped" },
      { state: "stopped" },
    ]);
    const half = apply(send(stoppable, "q"), text("a", "half", { request_id: "q", final: false }));
    const late = rejectMessage(half, "q", stop);
    expect([sent(late), ...answers(late)]).toMatchObject([
      { delivery: "delivered" },
      { state: "stopped", segments: [{ kind: "text" }] },
    ]);
  });
});
