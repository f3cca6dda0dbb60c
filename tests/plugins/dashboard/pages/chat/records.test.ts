// Tests the recorded requests, the marks of read conversations, and how calls and days are read.
import { describe, expect, test } from "vitest";
import { formatPeriod } from "../../../../../plugins/dashboard/pages/chat/dates.ts";
import { formatMs } from "../../../../../plugins/dashboard/pages/chat/dates.ts";
import { Recorder } from "../../../../../plugins/dashboard/pages/chat/state/recorder.ts";
import {
  addUnknown,
  countUnread,
  markRead,
} from "../../../../../plugins/dashboard/pages/chat/state/seen.ts";
import { describeRequest } from "../../../../../plugins/dashboard/pages/chat/timeline.ts";
import { readToolCall } from "../../../../../plugins/dashboard/pages/chat/tool-calls.ts";

const json = (frame: object): string => JSON.stringify(frame);

describe("Recorder", () => {
  test("collects frames of a request, also those that name only a message", () => {
    let now = 0;
    const recorder = new Recorder(() => ++now);
    recorder.record("s", "out", json({ type: "message.send", id: "q", payload: { content: "é" } }));
    recorder.record("s", "in", json({ type: "message.ack", payload: { request_id: "q" } }));
    const create = { message_id: "m", request_id: "q", content: "a" };
    recorder.record("s", "in", json({ type: "message.create", payload: create }));
    const append = { message_id: "m", at: 1, content: "b" };
    recorder.record("s", "in", json({ type: "message.append", payload: append }));
    recorder.record("s", "in", json({ type: "pong" }));
    recorder.record("s", "in", "not json");
    const request = recorder.find("q")!;
    expect(request.frames.map(({ type }) => type)).toEqual([
      "message.send",
      "message.ack",
      "message.create",
      "message.append",
    ]);
    expect(request.frames[0]).toMatchObject({ direction: "out", at: 1, bytes: 59 });
    expect(recorder.newest("s")).toBe(request);
    expect(recorder.newest("t")).toBeUndefined();
    expect(describeRequest(request, undefined)).toMatchObject({
      total: 1,
      entries: [{ name: "Delivered", ms: 1 }],
    });
  });

  test("leaves the times to the server, if it has measured them", () => {
    const part = { updates: 0, final: true };
    const parts = [
      { ...part, id: "t", kind: "thought", fromMs: 40, toMs: 40 },
      { ...part, id: "c", kind: "tool_calls", fromMs: 45, toMs: 45 },
      { ...part, id: "a", kind: "text", fromMs: 95, toMs: 140, updates: 3 },
    ] as const;
    const address = { channel: "pico", session: "s", id: "q", at: 1 };
    const ended = { acceptedMs: 5, firstTextMs: 95, endedMs: 150, usage: { output: 7 } };
    const timeline = describeRequest(undefined, undefined, {
      ...{ ...address, ...ended, parts, left: 0 },
    });
    expect(timeline).toMatchObject({ total: 150, firstText: 95, tokens: 7 });
    expect(timeline.entries.map(({ name, from, ms }) => [name, from, ms])).toEqual([
      ["Delivered", 0, 5],
      ["Thought", 0, 40],
      ["Tool", 45, 50],
      ["Answer", 95, 45],
    ]);
  });

  test("keeps 200 requests, 300 frames of each, and reads long ones", () => {
    const recorder = new Recorder(() => 0);
    const long = "x".repeat(100_000);
    for (let at = 0; at < 201; at++)
      recorder.record("s", "out", json({ type: "message.send", id: `q${at}`, payload: {} }));
    expect([recorder.find("q0"), recorder.find("q1")?.frames.length]).toEqual([undefined, 1]);
    const payload = { message_id: "m", request_id: "q5", content: long };
    for (let at = 0; at < 400; at++)
      recorder.record("s", "in", json({ type: "message.update", payload }));
    const { frames, dropped } = recorder.find("q5")!;
    expect([frames.length, dropped, frames[0]!.type]).toEqual([300, 101, "message.send"]);
    expect(frames.at(-1)!.text).toHaveLength(64 * 1024);
  });
});

describe("countUnread", () => {
  test("counts messages since the last visit, and none on the first", () => {
    const seen = addUnknown({}, [{ id: "a", turns: 4 }]);
    expect(countUnread(seen, { id: "a", turns: 4 })).toBe(0);
    expect(countUnread(seen, { id: "a", turns: 6 })).toBe(2);
    expect(countUnread(seen, { id: "new", turns: 6 })).toBe(0);
    const read = markRead(addUnknown(seen, [{ id: "a", turns: 9 }]), { id: "a", turns: 6 });
    expect([
      countUnread(read, { id: "a", turns: 6 }),
      markRead(read, { id: "a", turns: 6 }),
    ]).toEqual([0, read]);
  });

  test("forgets the least recently read conversations beyond 500", () => {
    let seen = {};
    for (let at = 0; at < 501; at++) seen = markRead(seen, { id: `c${at}`, turns: 1 });
    expect(Object.keys(seen)).toHaveLength(500);
    expect(seen).not.toHaveProperty("c0");
  });
});

describe("readToolCall", () => {
  test.each([
    [{ function: { name: "f", arguments: '{"a":1}' } }, { name: "f", input: '{\n  "a": 1\n}' }],
    [
      { name: "g", arguments: { a: 1 }, result: "done" },
      { name: "g", output: "done" },
    ],
    [
      { name: "h", error: "No network" },
      { name: "h", output: "No network", isFailed: true },
    ],
    [
      { name: "i", state: "failed" },
      { name: "i", isFailed: true },
    ],
    [{ function: { name: "j", arguments: "{broken" } }, { name: "j", input: "{broken" }],
    [undefined, { name: "Tool", isFailed: false }],
  ])("reads %j", (call, expected) => {
    expect(readToolCall(call)).toMatchObject(expected);
  });
});

describe("formatPeriod", () => {
  const now = new Date(2026, 3, 14, 12).getTime();
  test.each([
    [new Date(2026, 3, 14, 0, 1), "Today"],
    [new Date(2026, 3, 13, 23, 59), "Yesterday"],
    [new Date(2026, 3, 8), "Last week"],
    [new Date(2026, 2, 1), "March"],
    [new Date(2025, 11, 31), "December 2025"],
  ])("names the part of the list of %s", (date, name) => {
    expect(formatPeriod(date.getTime(), now)).toBe(name);
  });
});

describe("formatMs", () => {
  test.each([
    [12.4, "12 ms"],
    [1_240, "1.24 s"],
    [12_400, "12.4 s"],
    [65_000, "1 min 5 s"],
  ])("formats %d", (ms, text) => {
    expect(formatMs(ms)).toBe(text);
  });
});
