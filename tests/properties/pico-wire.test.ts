import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  encodeUtf8,
  decode,
  decodeRequest,
  encode,
  messageErrors,
  formatCursor,
  isSessionId,
  parseCursor,
  WireError,
  type Frame,
  type Role,
} from "../../lib/pico-wire/index.ts";
import { fitsInBytes } from "../../lib/pico-wire/json.ts";
import { runs } from "../support/runs.ts";

const options = { numRuns: runs(400) };
const party = fc.constantFrom<Role>("client", "server");

function onlyWireErrors(input: string | Uint8Array, sender: Role): void {
  for (const read of [() => decode(input, sender as "client"), () => decodeRequest(input)]) {
    try {
      read();
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      expect(Object.keys(messageErrors)).toContain(error.code);
    }
  }
}

const types = fc.constantFrom(
  "message.send",
  "media.send",
  "typing.start",
  "typing.stop",
  "ping",
  "message.create",
  "message.update",
  "message.delete",
  "media.create",
  "error",
  "pong",
  "hello",
  "message.ack",
  "notice",
  "ack",
  "gap",
  "__proto__",
  "toString",
);
const keys = fc.constantFrom(
  "content",
  "media",
  "attachments",
  "hops",
  "message_id",
  "kind",
  "thought",
  "tool_calls",
  "url",
  "filename",
  "content_type",
  "index",
  "data_url",
  "type",
  "context_usage",
  "code",
  "message",
  "request_id",
  "seq",
  "epoch",
  "conn_id",
  "session_id",
  "window",
  "from",
  "to",
  "reason",
  "__proto__",
  "constructor",
);
const odd = fc.oneof(
  fc.constantFrom(
    "data:image/png;base64,AAAA",
    "data:image/png;base64,=",
    "\ud800",
    "",
    1e308,
    -0,
    2 ** 53,
    null,
  ),
  fc.jsonValue(),
  fc.string({ unit: "binary" }),
);
const payload = fc.oneof(
  fc.dictionary(keys, fc.oneof(odd, fc.array(odd), fc.dictionary(keys, odd))),
  odd,
);
const almostFrame = fc.record(
  { type: fc.oneof(types, odd), id: odd, session_id: odd, timestamp: odd, payload },
  { requiredKeys: [] },
);

describe("pico-wire codec", () => {
  test("throws only WireError for any text", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.json()), party, onlyWireErrors),
      options,
    );
  });
  test("throws only WireError for any bytes", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), party, onlyWireErrors), options);
  });
  test("throws only WireError for any frame-like input", () => {
    fc.assert(
      fc.property(almostFrame, party, (frame, from) => onlyWireErrors(JSON.stringify(frame), from)),
      { numRuns: runs(2000) },
    );
  });
  test("throws only WireError for truncated or damaged frames", () => {
    const text = JSON.stringify({
      type: "message.send",
      id: "m",
      payload: { content: 'a"b\\', media: ["data:image/png;base64,AAAA"] },
    });
    fc.assert(
      fc.property(
        fc.nat(text.length),
        fc.string({ unit: "binary", maxLength: 3 }),
        fc.nat(text.length),
        (at, noise, skip) => {
          onlyWireErrors(text.slice(0, at) + noise + text.slice(at + skip), "client");
        },
      ),
      options,
    );
  });

  const name = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }).filter(isSessionId);
  const text = fc.string({ unit: "grapheme" }).filter((t) => t.isWellFormed());
  const envelope = fc.record(
    { id: name, session_id: name, timestamp: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }) },
    { requiredKeys: [] },
  );
  const medium = fc.record({
    type: fc.constantFrom("image/jpeg", "image/png", "image/gif", "image/webp", "image/bmp"),
    base64: fc
      .uint8Array({ minLength: 1, maxLength: 40 })
      .map((bytes) => btoa(String.fromCharCode(...bytes))),
  });
  const opaque = fc
    .jsonValue({ maxDepth: 4 })
    .filter((v) => v !== null && !JSON.stringify(v).includes("__proto__"))
    .map((v) => JSON.parse(JSON.stringify(v)) as unknown);
  const count = fc.maxSafeNat();
  const clientFrame = fc.oneof(
    fc
      .tuple(envelope, fc.constantFrom("ping", "typing.start", "typing.stop"))
      .map(([e, type]) => ({ type, ...e })),
    fc
      .tuple(
        envelope,
        fc.constantFrom("message.send", "media.send"),
        fc.record({
          content: text,
          media: fc.array(medium, { maxLength: 3 }),
          hops: fc.integer({ min: 0, max: 255 }),
        }),
      )
      .filter(([, , p]) => p.media.length > 0 || p.content.trim() !== "")
      .map(([e, type, p]) => ({ type, ...e, payload: p })),
    fc.tuple(envelope, count).map(([e, seq]) => ({ type: "ack", ...e, payload: { seq } })),
  );
  const serverMessage = fc.record(
    {
      message_id: name,
      content: text,
      kind: fc.constantFrom("thought", "tool_calls"),
      thought: fc.constant(true),
      tool_calls: fc.array(opaque, { maxLength: 3 }),
      placeholder: fc.constant(true),
      final: fc.constant(true),
      model_name: text.filter((t) => t !== ""),
      context_usage: opaque,
      attachments: fc.array(
        fc.record(
          { url: fc.webUrl({ validSchemes: ["https"] }), filename: text },
          { requiredKeys: ["url"] },
        ),
        { minLength: 1, maxLength: 3 },
      ),
    },
    { requiredKeys: ["message_id", "content"] },
  );
  const numbered = fc.option(fc.record({ seq: count, epoch: name }), { nil: {} });
  const hello = fc.record({
    version: count,
    conn_id: name,
    session_id: name,
    epoch: name,
    seq: count,
    resumed: fc.boolean(),
    replay: count,
    gap: fc.boolean(),
    ping_interval: count,
    read_timeout: count,
    max_payload: count,
    window: fc.record({ frames: count, bytes: count, ttl_s: count }),
    retry: fc.record({ min: count, max: count }),
  });
  const gap = fc
    .tuple(fc.option(fc.record({ from: count, to: count }), { nil: {} }), name)
    .map(([range, reason]) => ({ ...range, reason }));
  const serverFrame = fc.oneof(
    fc
      .tuple(envelope, fc.constantFrom("pong", "typing.start", "typing.stop"))
      .map(([e, type]) => ({ type, ...e })),
    fc
      .tuple(
        envelope,
        numbered,
        fc.constantFrom("message.create", "message.update", "media.create"),
        serverMessage,
      )
      .map(([e, n, type, p]) => ({ type, ...e, ...n, payload: p })),
    fc.tuple(envelope, numbered, name).map(([e, n, message_id]) => ({
      type: "message.delete",
      ...e,
      ...n,
      payload: { message_id },
    })),
    fc.tuple(envelope, hello).map(([e, payload]) => ({ type: "hello", ...e, payload })),
    fc.tuple(envelope, gap).map(([e, payload]) => ({ type: "gap", ...e, payload })),
    fc
      .tuple(
        envelope,
        fc.record({ request_id: name, status: fc.constantFrom("accepted", "duplicate") }),
      )
      .map(([e, payload]) => ({ type: "message.ack", ...e, payload })),
    fc
      .tuple(
        envelope,
        fc.record(
          { code: text, message: text, request_id: name },
          { requiredKeys: ["code", "message"] },
        ),
      )
      .map(([e, p]) => ({ type: "error", ...e, payload: p })),
  );
  const either = fc.oneof(
    clientFrame.map((frame) => ({ frame, from: "client" as Role })),
    serverFrame.map((frame) => ({ frame, from: "server" as Role })),
  );

  test("reads a formatted cursor back, whatever the epoch contains", () => {
    fc.assert(
      fc.property(fc.record({ epoch: name, seq: fc.nat() }), (cursor) => {
        expect(parseCursor(formatCursor(cursor))).toEqual(cursor);
      }),
      options,
    );
    for (const text of ["", ":", "e:", ":1", "e:-1", "e:1x", "e", "a\u0007:1"])
      expect(parseCursor(text)).toBeUndefined();
  });

  test("reads an encoded frame back, as text and as bytes", () => {
    fc.assert(
      fc.property(either, ({ frame, from }) => {
        const wire = encode(frame as Frame);
        expect(decode(wire, from as "client")).toStrictEqual(structuredClone(frame));
        expect(decode(new TextEncoder().encode(wire), from as "client")).toStrictEqual(
          structuredClone(frame),
        );
      }),
      options,
    );
  });

  test("ignores unknown keys", () => {
    fc.assert(
      fc.property(
        either,
        fc.dictionary(
          fc.string().map((k) => `x-${k}`),
          fc.jsonValue(),
        ),
        ({ frame, from }, extra) => {
          const wire = JSON.parse(encode(frame as Frame)) as { payload?: object };
          const widened = {
            ...extra,
            ...wire,
            ...(wire.payload && { payload: { ...extra, ...wire.payload } }),
          };
          expect(decode(JSON.stringify(widened), from as "client")).toStrictEqual(
            structuredClone(frame),
          );
        },
      ),
      options,
    );
  });

  test("counts UTF-8 bytes exactly in fitsInBytes", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        fc.nat(40),
        (t, most) => fitsInBytes(t, most) === encodeUtf8(t).length <= most,
      ),
      options,
    );
  });
});
