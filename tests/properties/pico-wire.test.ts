import fc from "fast-check";
import { expect, test } from "vitest";
import {
  byteLength, decode, decodeRequest, encode, errors, isSessionId, WireError, type Frame, type Party,
} from "../../plugins/pico-wire/index.ts";

const runs = { numRuns: 400 };
const party = fc.constantFrom<Party>("client", "server");

function onlyWireErrors(input: string | Uint8Array, sender: Party): void {
  for (const read of [() => decode(input, sender as "client"), () => decodeRequest(input)]) {
    try {
      read();
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      expect(Object.keys(errors)).toContain(error.code);
    }
  }
}

const types = fc.constantFrom(
  "message.send", "media.send", "typing.start", "typing.stop", "ping", "message.create", "message.update", "message.delete",
  "media.create", "error", "pong", "hello", "__proto__", "toString",
);
const keys = fc.constantFrom(
  "content", "media", "attachments", "hops", "message_id", "kind", "thought", "tool_calls", "url", "data_url", "type",
  "context_usage", "code", "message", "request_id", "__proto__", "constructor",
);
const odd = fc.oneof(
  fc.constantFrom("data:image/png;base64,AAAA", "data:image/png;base64,=", "\ud800", "", 1e308, -0, 2 ** 53, null),
  fc.jsonValue(),
  fc.string({ unit: "binary" }),
);
const payload = fc.oneof(fc.dictionary(keys, fc.oneof(odd, fc.array(odd), fc.dictionary(keys, odd))), odd);
const almostFrame = fc.record({ type: fc.oneof(types, odd), id: odd, session_id: odd, timestamp: odd, payload }, { requiredKeys: [] });

test("decode throws nothing but its own error for any text", () => {
  fc.assert(fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.json()), party, onlyWireErrors), runs);
});
test("decode throws nothing but its own error for any bytes", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), party, onlyWireErrors), runs);
});
test("decode throws nothing but its own error for anything shaped like a frame", () => {
  fc.assert(fc.property(almostFrame, party, (frame, from) => onlyWireErrors(JSON.stringify(frame), from)), { numRuns: 2000 });
});
test("decode throws nothing but its own error for a frame that was cut or damaged", () => {
  const text = JSON.stringify({ type: "message.send", id: "m", payload: { content: "a\"b\\", media: ["data:image/png;base64,AAAA"] } });
  fc.assert(fc.property(fc.nat(text.length), fc.string({ unit: "binary", maxLength: 3 }), fc.nat(text.length), (at, noise, skip) => {
    onlyWireErrors(text.slice(0, at) + noise + text.slice(at + skip), "client");
  }), runs);
});

const name = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }).filter(isSessionId);
const text = fc.string({ unit: "grapheme" }).filter((t) => t.isWellFormed());
const envelope = fc.record(
  { id: name, session_id: name, timestamp: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }) },
  { requiredKeys: [] },
);
const medium = fc.record({
  type: fc.constantFrom("image/jpeg", "image/png", "image/gif", "image/webp", "image/bmp"),
  base64: fc.uint8Array({ minLength: 1, maxLength: 40 }).map((bytes) => btoa(String.fromCharCode(...bytes))),
});
const opaque = fc.jsonValue({ maxDepth: 4 }).filter((v) => v !== null && !JSON.stringify(v).includes("__proto__"))
  .map((v) => JSON.parse(JSON.stringify(v)) as unknown);
const clientFrame = fc.oneof(
  fc.tuple(envelope, fc.constantFrom("ping", "typing.start", "typing.stop")).map(([e, type]) => ({ type, ...e })),
  fc.tuple(envelope, fc.constantFrom("message.send", "media.send"), fc.record({
    content: text, media: fc.array(medium, { maxLength: 3 }), hops: fc.integer({ min: 0, max: 255 }),
  })).filter(([, , p]) => p.media.length > 0 || p.content.trim() !== "").map(([e, type, p]) => ({ type, ...e, payload: p })),
);
const serverMessage = fc.record({
  message_id: name, content: text, kind: fc.constantFrom("thought", "tool_calls"), thought: fc.constant(true),
  tool_calls: fc.array(opaque, { maxLength: 3 }), placeholder: fc.constant(true), model_name: text.filter((t) => t !== ""),
  context_usage: opaque,
  attachments: fc.array(fc.record({ url: fc.webUrl({ validSchemes: ["https"] }), filename: text }, { requiredKeys: ["url"] }), { minLength: 1, maxLength: 3 }),
}, { requiredKeys: ["message_id", "content"] });
const serverFrame = fc.oneof(
  fc.tuple(envelope, fc.constantFrom("pong", "typing.start", "typing.stop")).map(([e, type]) => ({ type, ...e })),
  fc.tuple(envelope, fc.constantFrom("message.create", "message.update", "media.create"), serverMessage).map(([e, type, p]) => ({ type, ...e, payload: p })),
  fc.tuple(envelope, name).map(([e, message_id]) => ({ type: "message.delete", ...e, payload: { message_id } })),
  fc.tuple(envelope, fc.record({ code: text, message: text, request_id: name }, { requiredKeys: ["code", "message"] })).map(([e, p]) => ({ type: "error", ...e, payload: p })),
);
const either = fc.oneof(
  clientFrame.map((frame) => ({ frame, from: "client" as Party })),
  serverFrame.map((frame) => ({ frame, from: "server" as Party })),
);

test("what was encoded is read back equal, as text and as bytes", () => {
  fc.assert(fc.property(either, ({ frame, from }) => {
    const wire = encode(frame as Frame);
    expect(decode(wire, from as "client")).toStrictEqual(structuredClone(frame));
    expect(decode(new TextEncoder().encode(wire), from as "client")).toStrictEqual(structuredClone(frame));
  }), runs);
});

test("unknown keys change nothing", () => {
  fc.assert(fc.property(either, fc.dictionary(fc.string().map((k) => `x-${k}`), fc.jsonValue()), ({ frame, from }, extra) => {
    const wire = JSON.parse(encode(frame as Frame)) as { payload?: object };
    const widened = { ...extra, ...wire, ...(wire.payload && { payload: { ...extra, ...wire.payload } }) };
    expect(decode(JSON.stringify(widened), from as "client")).toStrictEqual(structuredClone(frame));
  }), runs);
});

test("bytes are counted as the encoder makes them", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (t) => byteLength(t) === new TextEncoder().encode(t).length), runs);
});
