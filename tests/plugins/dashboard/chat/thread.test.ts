// Tests the messages of a conversation on the page and their groups.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ServerFrame } from "../../../../lib/pico-wire/index.ts";
import type { Turn } from "../../../../plugins/dashboard/api/conversation-views.ts";
import { createGrouper } from "../../../../plugins/dashboard/ui/chat/state/groups.ts";
import { receive } from "../../../../plugins/dashboard/ui/chat/state/receive.ts";
import {
  addSent,
  emptyThread,
  setDelivery,
  type Thread,
} from "../../../../plugins/dashboard/ui/chat/state/thread.ts";
import { addTurns } from "../../../../plugins/dashboard/ui/chat/state/turns.ts";

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
