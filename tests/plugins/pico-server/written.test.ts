import fc from "fast-check";
import { expect, test } from "vitest";
import { encode } from "../../../plugins/pico-wire/index.ts";
import { framed } from "../../../plugins/pico-server/sink.ts";
import { WrittenEntry, writeText } from "../../../plugins/pico-server/written.ts";

const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constantFrom("", '"', "\\", "\n", "é", "\u007f", "\ud800"));

test("a text message written in one go is what encode writes of it", () => {
  fc.assert(fc.property(
    fc.constantFrom("message.create", "message.update"), text, text, text, fc.constantFrom(true, false, undefined), fc.nat(),
    (type, session, id, content, final, now) => {
      const payload = { message_id: id, content, ...(final && { final }) };
      const whole = encode({ type, payload, session_id: session, timestamp: now });
      const written = writeText({ type, session, id, content, final }, now);
      if (/^[ !#-[\]-~]*$/.test(session + id + content)) expect(written).toBe(whole);
      else expect(written).toBeUndefined();
    },
  ), { numRuns: 500 });
});

test.each(["hi", "ä", "x".repeat(126), "é".repeat(100), "x".repeat(70_000)])("an entry of %.10s is its frame and the same framed", (content) => {
  const entry = new WrittenEntry(content, Buffer.byteLength(content), true, "m");
  expect(Buffer.from(entry.frame).toString()).toBe(content);
  expect(Buffer.compare(entry.framed, framed(Buffer.from(content)))).toBe(0);
});
