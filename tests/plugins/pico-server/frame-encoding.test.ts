import { describe, expect, test } from "vitest";
import { frameTypeOf } from "../../../plugins/pico-server/frame-encoding.ts";

const heard = (text: string) => ({
  session: "s",
  cursor: { epoch: "e", seq: 1 },
  frame: Buffer.from(text),
  numbered: true,
});

describe("frameTypeOf", () => {
  test.each(["message.create", "message.update", "message.delete", "typing.start", "typing.stop"])(
    "finds the frame type %s in any order of the keys",
    (type) => {
      expect(
        frameTypeOf(heard(JSON.stringify({ type, payload: { content: '{"type":"ping"' } }))),
      ).toBe(type);
      expect(
        frameTypeOf(heard(JSON.stringify({ payload: { type: "message.create" }, type }))),
      ).toBe(type);
    },
  );
});
