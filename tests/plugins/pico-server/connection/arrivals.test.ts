import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Arrivals } from "../../../../plugins/pico-server/connection/memory-budget.ts";
import { rawFrame, type RawFrame } from "../raw-frames.ts";

const size = fc.oneof(fc.nat(130), fc.integer({ min: 65_530, max: 65_545 }));
const control = fc.record({
  opcode: fc.constantFrom(9, 10),
  payload: fc.nat(125).map((bytes) => new Uint8Array(bytes)),
});
/** Fragments of one message, each with the control frames that follow it. */
const message = fc.array(fc.tuple(size, fc.array(control, { maxLength: 2 })), {
  minLength: 1,
  maxLength: 4,
});

interface Sent {
  readonly frame: RawFrame;
  readonly endsMessage: boolean;
}

const framesOf = (fragments: [number, RawFrame[]][]): Sent[] =>
  fragments.flatMap(([bytes, controls], at) => {
    const isFinal = at === fragments.length - 1;
    const frame = { opcode: at === 0 ? 1 : 0, isFinal, payload: new Uint8Array(bytes) };
    return [
      { frame, endsMessage: isFinal },
      ...(isFinal ? [] : controls.map((one) => ({ frame: one, endsMessage: false }))),
    ];
  });

describe("Arrivals", () => {
  test("has no weight exactly between messages, in chunks of any size", () => {
    const cuts = fc.infiniteStream(fc.oneof(fc.integer({ min: 1, max: 20 }), fc.nat(70_000)));
    fc.assert(
      fc.property(fc.array(message, { maxLength: 4 }), cuts, (messages, lengths) => {
        const sent = messages.flatMap(framesOf);
        const bytes = Buffer.concat(sent.map(({ frame }) => rawFrame(frame)));
        const ends = new Set([0]);
        let end = 0;
        for (const { frame, endsMessage } of sent) {
          end += rawFrame(frame).byteLength;
          if (endsMessage) ends.add(end);
        }
        const arrivals = new Arrivals();
        for (let at = 0; at < bytes.byteLength;) {
          const chunk = bytes.subarray(at, at + Math.max(1, lengths.next().value as number));
          arrivals.read(chunk);
          at += chunk.byteLength;
          expect([at, arrivals.isBetweenMessages()]).toEqual([at, ends.has(at)]);
          if (ends.has(at)) expect(arrivals.weight).toBe(0);
        }
      }),
      { numRuns: 60 },
    );
  });

  test("weighs at least the received bytes of a message", () => {
    const arrivals = new Arrivals();
    const bytes = rawFrame({ opcode: 2, payload: new Uint8Array(100_000) });
    for (let at = 0; at < 99_000; at += 1_000) {
      arrivals.read(bytes.subarray(at, at + 1_000));
      expect(arrivals.weight).toBeGreaterThan(at);
    }
  });

  test("counts every fragment, including empty ones, but no pings", () => {
    const arrivals = new Arrivals();
    arrivals.read(rawFrame({ opcode: 1, isFinal: false }));
    const first = arrivals.weight;
    const empty = rawFrame({ opcode: 0, isFinal: false });
    arrivals.read(Buffer.concat(Array.from({ length: 1_000 }, () => empty)));
    expect(arrivals.weight - first).toBeGreaterThan(1_000 * 200);
    const before = arrivals.weight;
    for (let n = 0; n < 100; n++) arrivals.read(rawFrame({ opcode: 9, payload: empty }));
    expect(arrivals.weight).toBe(before);
  });

  test("counts nothing after a close frame and is not between messages", () => {
    const arrivals = new Arrivals();
    arrivals.read(rawFrame({ opcode: 8, payload: Buffer.of(3, 232) }));
    arrivals.read(rawFrame({ opcode: 1, isFinal: false, payload: new Uint8Array(1_000) }));
    expect([arrivals.isBetweenMessages(), arrivals.weight]).toEqual([false, 0]);
  });

  test("weighs the chunks of a slow frame more than their bytes", () => {
    const arrivals = new Arrivals();
    const bytes = rawFrame({ opcode: 2, payload: new Uint8Array(1_000) });
    for (const byte of bytes.subarray(0, 500)) arrivals.read(Buffer.of(byte));
    expect(arrivals.weight).toBeGreaterThan(400 * 1_000);
  });
});
