import fc from "fast-check";
import { expect, test } from "vitest";
import { encode } from "../../../plugins/pico-wire/index.ts";
import { numbered, numberedFrame } from "../../../plugins/pico-server/faces.ts";
import { framed, framedText } from "../../../plugins/pico-server/sink.ts";
import { HeardEntry, WrittenEntry, writeAnswer, writeText } from "../../../plugins/pico-server/written.ts";

const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constantFrom("", '"', "\\", "\n", "é", "\u007f", "\ud800"));

test("a text message written in one go is what encode writes of it", () => {
  fc.assert(fc.property(
    fc.constantFrom("message.create", "message.update"), text, text, text, fc.option(text, { nil: undefined }),
    fc.constantFrom(true, false, undefined), fc.nat(),
    (type, session, id, content, request, final, now) => {
      const payload = { message_id: id, content, ...(request !== undefined && { request_id: request }), ...(final && { final }) };
      const whole = encode({ type, payload, session_id: session, timestamp: now });
      const written = writeText({ type, session, id, content, request, final }, now);
      if (/^[ !#-[\]-~]*$/.test(session + id + content + (request ?? ""))) expect(written).toBe(whole);
      else expect(written).toBeUndefined();
    },
  ), { numRuns: 500 });
});

test.each(["hi", "ä", "x".repeat(126), "é".repeat(100), "x".repeat(70_000)])("an entry of %.10s is its frame and the same framed", (content) => {
  const entry = new WrittenEntry(content, Buffer.byteLength(content), true, "m");
  expect(Buffer.from(entry.frame).toString()).toBe(content);
  expect(Buffer.compare(entry.framed, framed(Buffer.from(content)))).toBe(0);
});

test("an acknowledgement written in one go is what encode writes of it, in whatever letters", () => {
  fc.assert(fc.property(text, text, fc.constantFrom("accepted", "duplicate"), fc.nat(), (session_id, request_id, status, now) => {
    const frame = { type: "message.ack", session_id, payload: { request_id, status } } as const;
    const whole = Buffer.from(encode({ ...frame, timestamp: now }));
    expect(Buffer.compare(framedText(writeAnswer(frame, now)), framed(whole))).toBe(0);
  }), { numRuns: 500 });
});

test.each(["0f3a", "épo\"que"])("a frame with its place in the epoch %s is the same from its text and from its bytes", (epoch) => {
  fc.assert(fc.property(fc.string({ unit: "grapheme", maxLength: 200 }), fc.nat(), (content, seq) => {
    const json = JSON.stringify({ type: "message.create", payload: { content } });
    const entry = new WrittenEntry(json, Buffer.byteLength(json), true, "m");
    const [head, tail] = numbered(entry.frame, { epoch, seq });
    const heard = new HeardEntry("s", { epoch, seq }, entry);
    const plain = { session: "s", cursor: { epoch, seq }, numbered: true, frame: entry.frame };
    const whole = Buffer.concat([head, Buffer.from(tail)]);
    expect(JSON.parse(whole.toString())).toEqual({ ...(JSON.parse(json) as object), epoch, seq });
    expect(Buffer.compare(numberedFrame(heard), framed(whole))).toBe(0);
    expect(Buffer.compare(numberedFrame(plain), framed(whole))).toBe(0);
  }), { numRuns: 200 });
});
