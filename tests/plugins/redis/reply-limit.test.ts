import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ReplyMeter } from "../../../plugins/redis/reply-limit.ts";

type Value = string | number | null | readonly Value[];

function encode(value: Value): string {
  if (value === null) return "$-1\r\n";
  if (typeof value === "number") return `:${value}\r\n`;
  if (typeof value === "string") return `$${Buffer.byteLength(value)}\r\n${value}\r\n`;
  return `*${value.length}\r\n${value.map(encode).join("")}`;
}

const { value: values } = fc.letrec<{ value: Value; list: readonly Value[] }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.integer({ min: -9, max: 99 }),
    fc.constant(null),
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.constant("a\r\n$9\r\n"),
    tie("list"),
  ),
  list: fc.array(tie("value"), { maxLength: 4 }),
}));

/** Feeds a text in chunks of these sizes. */
function feed(meter: ReplyMeter, text: string, sizes: readonly number[]): boolean {
  const bytes = Buffer.from(text);
  let isAccepted = true;
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length]!;
    isAccepted = meter.accept(bytes.subarray(at, at + size)) && isAccepted;
    at += size;
  }
  return isAccepted;
}

const chunkSizes = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 8 });

describe("ReplyMeter", () => {
  test("measures each reply alone, in chunks of any size", () => {
    fc.assert(
      fc.property(fc.array(values, { minLength: 1, maxLength: 8 }), chunkSizes, (all, sizes) => {
        const replies = ["+OK\r\n", "-ERR no\r\n", ...all.map(encode), "*0\r\n", "*-1\r\n"];
        const largest = Math.max(...replies.map((text) => Buffer.byteLength(text)));
        // A line feed counts in the reply after it.
        expect(feed(new ReplyMeter(largest + 1), replies.join(""), sizes)).toBe(true);
        const text = encode([...all, "x".repeat(largest + 20)]);
        expect(feed(new ReplyMeter(largest + 1), text, sizes)).toBe(false);
      }),
    );
  });

  test.each([
    ["a list", "*999999999\r\n" + ":1\r\n".repeat(400)],
    ["a text", "$1000000000\r\n"],
    ["a line", `+${"x".repeat(2_000)}`],
    ["nested lists", "*1\r\n".repeat(400)],
  ])("rejects %s without an end", (_, text) => {
    expect(feed(new ReplyMeter(1_000), text, [64])).toBe(false);
  });
});
