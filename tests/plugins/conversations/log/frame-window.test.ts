// Tests the replay window against a list of frames.
import { describe, expect, test } from "vitest";
import { FrameWindow } from "../../../../plugins/conversations/log/sequence.ts";
import { EncodedEntry } from "../../../../plugins/pico-server/frame-encoding.ts";

/** Lengths around the limits of the WebSocket header and of copied frames, and in between. */
const lengths = [1, 20, 120, 125, 126, 130, 500, 4_000, 4_092, 4_093, 5_000, 20_000];
const textOf = (n: number): string => `é${n}`.padEnd(lengths[n % lengths.length]!, "x");
const entryOf = (text: string) => new EncodedEntry("message.create", text, true, "m");

describe("FrameWindow", () => {
  test.each([1, 2, 3, 40])("returns the newest %s frames at any time", (width) => {
    const window = new FrameWindow();
    const kept: { readonly text: string; readonly bytes: number }[] = [];
    for (let n = 0; n < 400; n++) {
      const entry = entryOf(textOf(n));
      window.push(entry);
      kept.push({ text: textOf(n), bytes: entry.framed.length });
      if (kept.length > width) expect(window.shift()).toBe(kept.shift()!.bytes);
      const from = window.first + (n % width);
      expect(window.from(from).map((frame) => Buffer.from(frame).toString())).toEqual(
        kept.slice(from - window.first).map(({ text }) => text),
      );
    }
  });

  test("keeps returned frames when later ones replace them", () => {
    const window = new FrameWindow();
    for (let n = 0; n < 3; n++) window.push(entryOf(`frame ${n}`));
    const before = window.from(1);
    for (let n = 3; n < 5_000; n++) {
      window.push(entryOf(`frame ${n}`));
      window.shift();
    }
    expect(before.map((frame) => Buffer.from(frame).toString())).toEqual([
      "frame 0",
      "frame 1",
      "frame 2",
    ]);
  });

  test("becomes empty and continues with the next number", () => {
    const window = new FrameWindow(7);
    for (const text of ["a", "b", "c"]) window.push(entryOf(text));
    expect([window.shift(), window.shift(), window.shift(), window.shift()]).toEqual([3, 3, 3, 0]);
    expect([window.first, window.length, window.from(1)]).toEqual([10, 0, []]);
    window.push(entryOf("d"));
    window.push(entryOf("e"));
    expect(window.from(11).map((frame) => Buffer.from(frame).toString())).toEqual(["e"]);
  });

  test("finds the messages of clients between copied frames", () => {
    const window = new FrameWindow();
    const turn = { frame: Buffer.from("{}"), numbered: true, type: "message.user" } as const;
    window.push(entryOf("a"));
    window.push({ ...turn, request: "r1" });
    window.push(entryOf("b"));
    expect([1, 2, 3].map((number) => window.isTurn(number))).toEqual([false, true, false]);
    expect([window.hasRequest("r1"), window.hasRequest("r2")]).toEqual([true, false]);
  });
});
