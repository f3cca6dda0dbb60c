import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encode } from "../../../lib/pico-wire/index.ts";
import { DeliveredEntry } from "../../../plugins/conversations/log/stream.ts";
import {
  splitNumberedFrame,
  frameWithPosition,
  frameBytes,
  EncodedEntry,
  encodeTextMessage,
  type EncodedFrame,
} from "../../../plugins/pico-server/frame-encoding.ts";

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.constantFrom("", '"', "\\", "\n", "é", "\u007f", "\ud800"),
);

const bytesOf = (encodedFrame: EncodedFrame): Buffer =>
  typeof encodedFrame === "string" ? Buffer.from(encodedFrame, "latin1") : encodedFrame;

/** One unmasked text frame by RFC 6455. */
function framed(payload: Uint8Array): Buffer {
  const size = payload.byteLength;
  const head =
    size < 126
      ? [size]
      : size < 65_536
        ? [126, size >> 8, size & 255]
        : [127, 0, 0, 0, 0, 0, size >> 16, (size >> 8) & 255, size & 255];
  return Buffer.concat([Buffer.from([0x81, ...head]), payload]);
}

describe("frame encoding", () => {
  test("encodes a text message exactly as encode does", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("message.create", "message.update"),
        text,
        text,
        text,
        fc.option(text, { nil: undefined }),
        fc.constantFrom(true, false, undefined),
        fc.nat(),
        (type, session, id, content, request, final, now) => {
          const payload = {
            message_id: id,
            content,
            ...(request !== undefined && { request_id: request }),
            ...(final && { final }),
          };
          const whole = encode({ type, payload, session_id: session, timestamp: now });
          const written = encodeTextMessage({ type, session, id, content, request, final }, now);
          if (/^[ !#-[\]-~]*$/.test(session + id + content + (request ?? "")))
            expect(written).toBe(whole);
          else expect(written).toBeUndefined();
        },
      ),
      { numRuns: 500 },
    );
  });

  const sizes = [0, 1, 125, 126, 127, 16_383, 16_384, 16_385, 65_535, 65_536, 70_000];
  test.each(sizes)("encodes an entry of %i bytes as frame and as WebSocket message", (size) => {
    for (const content of ["x".repeat(size), "é".repeat(size / 2), "✓".repeat(size / 3)]) {
      const entry = new EncodedEntry("message.create", content, true, "m");
      expect(Buffer.from(entry.frame).toString()).toBe(content);
      const whole = framed(Buffer.from(content));
      expect(Buffer.compare(bytesOf(entry.framed), whole)).toBe(0);
      expect(Buffer.compare(bytesOf(frameBytes(Buffer.from(content))), whole)).toBe(0);
    }
  });

  test.each(["0f3a", 'épo"que'])("adds the epoch %s to text and to bytes alike", (epoch) => {
    const repeats = fc.constantFrom(1, 1, 1, 400, 16_320, 16_350, 16_384, 65_480, 65_536);
    const content = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 200 }),
      repeats.map((count) => "x".repeat(count)),
    );
    fc.assert(
      fc.property(content, fc.nat(), (content, seq) => {
        const json = JSON.stringify({ type: "message.create", payload: { content } });
        const entry = new EncodedEntry("message.create", json, true, "m");
        const [head, tail] = splitNumberedFrame(entry.frame, { epoch, seq });
        const heard = new DeliveredEntry("s", { epoch, seq }, entry);
        const plain = { session: "s", cursor: { epoch, seq }, numbered: true, frame: entry.frame };
        const whole = Buffer.concat([head, Buffer.from(tail)]);
        expect(JSON.parse(whole.toString())).toEqual({
          ...(JSON.parse(json) as object),
          epoch,
          seq,
        });
        expect(Buffer.compare(bytesOf(frameWithPosition(heard)), framed(whole))).toBe(0);
        expect(Buffer.compare(bytesOf(frameWithPosition(plain)), framed(whole))).toBe(0);
      }),
      { numRuns: 200 },
    );
  });
});
