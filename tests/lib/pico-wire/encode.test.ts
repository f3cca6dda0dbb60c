import { describe, expect, test } from "vitest";
import { encode, type Frame } from "../../../lib/pico-wire/index.ts";

const half = "cut off \ud83d";
const mended = "cut off \ufffd";

describe("encode", () => {
  test("replaces halves of surrogate pairs on every level by U+FFFD", () => {
    const calls = (text: string) => [
      { id: "1", type: "function", function: { name: "look", arguments: text } },
    ];
    const payload = (text: string) => ({
      message_id: "m",
      content: text,
      tool_calls: calls(text),
      model_name: text,
    });
    const wire = encode({ type: "message.create", payload: payload(half) } as Frame);
    expect(JSON.parse(wire)).toEqual({ type: "message.create", payload: payload(mended) });
    const sent = encode({ type: "message.send", payload: { content: half, media: [], hops: 0 } });
    expect(JSON.parse(sent)).toEqual({ type: "message.send", payload: { content: mended } });
  });

  test("keeps whole pairs, and the escape of a half as text", () => {
    const content = "\u{1f600} \\ud83d";
    const frame = {
      type: "message.create",
      payload: { message_id: "m", content, tool_calls: [{ id: content }] },
    };
    expect(encode(frame as Frame)).toBe(JSON.stringify(frame));
  });
});
