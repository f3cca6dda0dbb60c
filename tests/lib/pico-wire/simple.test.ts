import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decode, WireError } from "../../../lib/pico-wire/index.ts";

function read(text: string): unknown {
  try {
    return decode(text, "client");
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return {
      code: error.code,
      message: error.message,
      id: error.requestId,
      session: error.sessionId,
    };
  }
}

/** Valid and invalid values of a frame. */
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.string({ unit: "grapheme", maxLength: 20 }),
  fc.string(),
  fc.constantFrom(
    "",
    " ",
    "\u00a0",
    "a b",
    "\ud800",
    "\u2028",
    "\u007f",
    "\u009f",
    "__proto__",
    "x".repeat(256),
    "x".repeat(257),
  ),
);
const value = fc.oneof(
  { weight: 6, arbitrary: text },
  fc.constantFrom(null, 0, -1, 1.5, 12, 1e15, 1e16, [], {}),
);
const frame = fc.record(
  {
    type: fc.constantFrom("message.send", "media.send", "ping"),
    id: value,
    session_id: value,
    timestamp: value,
    payload: fc.record({ content: value, hops: fc.constantFrom(0, 2) }, { requiredKeys: [] }),
  },
  { requiredKeys: ["type"] },
);

/** The frame as clients write it, and with white space, so that it must be parsed. */
describe("decodeClient", () => {
  test("gives the same frame on the fast path and by parsing", () => {
    fc.assert(
      fc.property(frame, fc.boolean(), (object, isRaw) => {
        const written = JSON.stringify(object);
        const simple = isRaw
          ? written.replace(/\\u[0-9a-f]{4}/g, (at) => JSON.parse(`"${at}"`) as string)
          : written;
        expect(read(simple)).toEqual(read(` ${simple}`));
        expect(read(simple)).toEqual(read(simple.replace("{", "{ ")));
      }),
      { numRuns: 1_000 },
    );
  });

  test("parses any other text", () => {
    const simple =
      '{"type":"message.send","id":"m1","session_id":"s","timestamp":12,' +
      '"payload":{"content":"hi"}}';
    fc.assert(
      fc.property(
        fc.nat(simple.length),
        fc.nat(2),
        fc.string({ maxLength: 2 }),
        (at, gone, put) => {
          const edited = simple.slice(0, at) + put + simple.slice(at + gone);
          expect(read(edited)).toEqual(read(` ${edited}`));
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
