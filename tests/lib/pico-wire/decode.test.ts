import { describe, expect, test } from "vitest";
import { decode, decodeRequest, limits, type ErrorCode } from "../../../lib/pico-wire/index.ts";
import { errorOf } from "../../support/wire-errors.ts";

const png = "data:image/png;base64,iVBORw0KGgo=";
const inline = { type: "image/png", base64: "iVBORw0KGgo=" };
const send = (payload: unknown, rest: object = {}) =>
  JSON.stringify({ type: "message.send", ...rest, payload });

describe("decode: client frames", () => {
  test.each(["message.send", "media.send"])("%s carries content, media and hops", (type) => {
    const text = JSON.stringify({
      type,
      id: "m1",
      session_id: "s",
      timestamp: 5,
      payload: { content: "hi", media: png, hops: 2 },
    });
    const payload = { content: "hi", media: [inline], hops: 2 };
    expect(decode(text, "client")).toEqual({
      type,
      id: "m1",
      session_id: "s",
      timestamp: 5,
      payload,
    });
  });

  test.each([
    ["a string", { media: png }],
    ["a list of strings", { media: [png] }],
    ["an object with url", { media: { url: png } }],
    ["an object with data_url", { media: [{ data_url: png }] }],
    ["attachments with url", { attachments: [{ type: "image", url: png }] }],
    ["attachments with data_url", { attachments: [{ type: "image", data_url: png }] }],
  ])("media may be %s", (_, payload) => {
    expect(decode(send(payload), "client")).toMatchObject({
      payload: { content: "", media: [inline], hops: 0 },
    });
  });

  test.each(["jpeg", "png", "gif", "webp", "bmp", "PNG"])("accepts an image/%s medium", (type) => {
    const media = `data:image/${type};base64,iVBORw0KGgo=`;
    expect(decode(send({ media }), "client")).toMatchObject({
      payload: { media: [{ type: `image/${type.toLowerCase()}` }] },
    });
  });

  test.each(["ping", "typing.start", "typing.stop"])("%s needs no payload", (type) => {
    expect(decode(JSON.stringify({ type, id: "x" }), "client")).toEqual({ type, id: "x" });
  });

  test("decodes bytes as UTF-8", () => {
    const bytes = new TextEncoder().encode(send({ content: "héllo 🌍" }));
    expect(decode(bytes, "client")).toMatchObject({ payload: { content: "héllo 🌍" } });
  });

  test("ignores unknown, empty and null keys", () => {
    const text = JSON.stringify({
      type: "ping",
      id: "",
      session_id: null,
      timestamp: 0,
      colour: "red",
    });
    expect(decode(text, "client")).toEqual({ type: "ping" });
  });

  test("replaces half of a surrogate pair by U+FFFD", () => {
    expect(
      decode('{"type":"message.send","payload":{"content":"a\\ud800b"}}', "client"),
    ).toMatchObject({ payload: { content: "a\uFFFDb" } });
  });

  test("treats __proto__ and constructor as unknown keys", () => {
    const text =
      '{"type":"message.send","__proto__":{"id":"stolen"},' +
      '"payload":{"content":"x","__proto__":{"hops":9},"constructor":1}}';
    expect(decode(text, "client")).toEqual({
      type: "message.send",
      payload: { content: "x", media: [], hops: 0 },
    });
    expect(({} as { hops?: number }).hops).toBeUndefined();
  });
});

describe("decode: rejected frames", () => {
  const b64 = (bytes: number) => "A".repeat(Math.ceil(bytes / 3) * 4);
  test.each<[string, string | Uint8Array, ErrorCode]>([
    ["no JSON", "hello", "invalid_message"],
    ["an empty text", "", "invalid_message"],
    ["a list", "[]", "invalid_message"],
    ["null", "null", "invalid_message"],
    ["bytes that are not UTF-8", new Uint8Array([0x22, 0xff, 0x22]), "invalid_message"],
    ["no type", "{}", "invalid_message"],
    ["a type that is not text", '{"type":5}', "invalid_message"],
    ["an unknown type", '{"type":"message.sing"}', "unknown_type"],
    [
      "a type only servers send",
      '{"type":"message.create","payload":{"message_id":"a","content":"x"}}',
      "unknown_type",
    ],
    ["a type of Object.prototype", '{"type":"constructor"}', "unknown_type"],
    ["a payload that is a list", '{"type":"message.send","payload":[]}', "invalid_message"],
    ["content that is a number", send({ content: 5 }), "invalid_message"],
    ["no content and no media", send({}), "empty_content"],
    ["no payload", '{"type":"message.send"}', "empty_content"],
    ["blank content", send({ content: " \n\t\u00a0" }), "empty_content"],
    [
      "content over 1 MiB in characters",
      send({ content: "x".repeat(limits.content + 1) }),
      "too_large",
    ],
    [
      "content over 1 MiB in bytes",
      send({ content: "é".repeat(limits.content / 2 + 1) }),
      "too_large",
    ],
    ["a medium by address", send({ media: "https://example.org/a.png" }), "invalid_media"],
    ["a medium that is a number", send({ media: 5 }), "invalid_media"],
    [
      "a medium of another type",
      send({ media: "data:image/svg+xml;base64,AAAA" }),
      "invalid_media",
    ],
    ["a medium without bytes", send({ media: "data:image/png;base64," }), "invalid_media"],
    ["a medium that is not base64", send({ media: "data:image/png;base64,A*AA" }), "invalid_media"],
    [
      "a medium with padding inside",
      send({ media: "data:image/png;base64,A=AA" }),
      "invalid_media",
    ],
    [
      "a medium over 20 MiB",
      send({ media: `data:image/png;base64,${b64(limits.medium + 3)}` }),
      "invalid_media",
    ],
    [
      "too many media",
      send({ media: Array.from({ length: limits.media + 1 }, () => png) }),
      "invalid_media",
    ],
    ["replaces that is not text", send({ content: "x", replaces: 5 }), "invalid_message"],
    ["negative hops", send({ content: "x", hops: -1 }), "invalid_message"],
    [
      "endless hops",
      '{"type":"message.send","payload":{"content":"x","hops":1e999}}',
      "invalid_message",
    ],
    ["an id that is a number", '{"type":"ping","id":7}', "invalid_message"],
    ["a long id", JSON.stringify({ type: "ping", id: "x".repeat(257) }), "invalid_message"],
    [
      "a session with a control character",
      JSON.stringify({ type: "ping", session_id: "a\u0007b" }),
      "invalid_message",
    ],
    [
      "a session with half a surrogate pair",
      '{"type":"ping","session_id":"\\udc00"}',
      "invalid_message",
    ],
    [
      "a session over 256 bytes",
      JSON.stringify({ type: "ping", session_id: "é".repeat(129) }),
      "invalid_message",
    ],
    [
      "more levels than a frame has",
      `{"type":"ping","x":${"[".repeat(100)}${"]".repeat(100)}}`,
      "invalid_message",
    ],
    ["a million brackets", "[".repeat(1_000_000), "invalid_message"],
    [
      "a million empty objects",
      `{"type":"ping","x":[${"{},".repeat(1_000_000)}{}]}`,
      "invalid_message",
    ],
  ])("%s", (_, input, code) => {
    expect(errorOf(() => decode(input, "client")).code).toBe(code);
  });

  test("includes the readable ids of the frame", () => {
    const error = errorOf(() => decode(send({}, { id: "m7", session_id: "s1" }), "client"));
    expect(error).toMatchObject({ code: "empty_content", requestId: "m7", sessionId: "s1" });
    expect(errorOf(() => decode('{"type":"nope","id":9}', "client")).requestId).toBeUndefined();
  });

  test("accepts a medium of exactly 20 MiB and content of 1 MiB", () => {
    const bytes = limits.medium;
    const base64 = `${"A".repeat(Math.floor(bytes / 3) * 4)}${["", "AA==", "AAA="][bytes % 3]}`;
    const frame = decode(
      send({ content: "x".repeat(limits.content), media: `data:image/webp;base64,${base64}` }),
      "client",
    );
    expect(frame).toMatchObject({ payload: { media: [{ type: "image/webp" }] } });
  });
});

describe("decodeRequest", () => {
  test("decodes the ids next to the content", () => {
    expect(decodeRequest('{"session_id":"s","id":"m","content":"hi"}')).toEqual({
      id: "m",
      session_id: "s",
      payload: { content: "hi", media: [], hops: 0 },
    });
    expect(errorOf(() => decodeRequest('{"id":"m","content":""}'))).toMatchObject({
      code: "empty_content",
      requestId: "m",
    });
    expect(errorOf(() => decodeRequest("nope")).code).toBe("invalid_message");
  });
});
