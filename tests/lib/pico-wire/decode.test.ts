import { describe, expect, test } from "vitest";
import {
  decode,
  decodeRequest,
  limits,
  WireError,
  type ErrorCode,
} from "../../../lib/pico-wire/index.ts";

const png = "data:image/png;base64,iVBORw0KGgo=";
const inline = { type: "image/png", base64: "iVBORw0KGgo=" };
const send = (payload: unknown, rest: object = {}) =>
  JSON.stringify({ type: "message.send", ...rest, payload });

function refusal(run: () => unknown): WireError {
  try {
    run();
  } catch (error) {
    if (error instanceof WireError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

describe("a client's frames", () => {
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

  test.each(["jpeg", "png", "gif", "webp", "bmp", "PNG"])("a medium may be an image/%s", (type) => {
    const media = `data:image/${type};base64,iVBORw0KGgo=`;
    expect(decode(send({ media }), "client")).toMatchObject({
      payload: { media: [{ type: `image/${type.toLowerCase()}` }] },
    });
  });

  test.each(["ping", "typing.start", "typing.stop"])("%s needs no payload", (type) => {
    expect(decode(JSON.stringify({ type, id: "x" }), "client")).toEqual({ type, id: "x" });
  });

  test("bytes are read as UTF-8", () => {
    const bytes = new TextEncoder().encode(send({ content: "héllo 🌍" }));
    expect(decode(bytes, "client")).toMatchObject({ payload: { content: "héllo 🌍" } });
  });

  test("unknown keys are ignored, empty and null ones are absent", () => {
    const text = JSON.stringify({
      type: "ping",
      id: "",
      session_id: null,
      timestamp: 0,
      colour: "red",
    });
    expect(decode(text, "client")).toEqual({ type: "ping" });
  });

  test("a half of a surrogate pair in content becomes U+FFFD", () => {
    expect(
      decode('{"type":"message.send","payload":{"content":"a\\ud800b"}}', "client"),
    ).toMatchObject({ payload: { content: "a\uFFFDb" } });
  });

  test("keys named __proto__ and constructor give nothing away and change nothing", () => {
    const text =
      '{"type":"message.send","__proto__":{"id":"stolen"},"payload":{"content":"x","__proto__":{"hops":9},"constructor":1}}';
    expect(decode(text, "client")).toEqual({
      type: "message.send",
      payload: { content: "x", media: [], hops: 0 },
    });
    expect(({} as { hops?: number }).hops).toBeUndefined();
  });
});

describe("a refused frame", () => {
  const b64 = (bytes: number) => "A".repeat(Math.ceil(bytes / 3) * 4);
  test.each<[string, string | Uint8Array, ErrorCode]>([
    ["no JSON", "hello", "invalid_message"],
    ["an empty text", "", "invalid_message"],
    ["a list", "[]", "invalid_message"],
    ["null", "null", "invalid_message"],
    ["bytes that are not UTF-8", new Uint8Array([0x22, 0xff, 0x22]), "invalid_message"],
    ["no type", "{}", "invalid_message"],
    ["a type that is not text", '{"type":5}', "invalid_message"],
    ["a type nobody knows", '{"type":"message.sing"}', "unknown_type"],
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
    expect(refusal(() => decode(input, "client")).code).toBe(code);
  });

  test("names the frame's id and session when they could be read", () => {
    const error = refusal(() => decode(send({}, { id: "m7", session_id: "s1" }), "client"));
    expect(error).toMatchObject({ code: "empty_content", requestId: "m7", sessionId: "s1" });
    expect(refusal(() => decode('{"type":"nope","id":9}', "client")).requestId).toBeUndefined();
  });

  test("a medium of exactly 20 MiB and content of exactly 1 MiB pass", () => {
    const bytes = limits.medium;
    const base64 = `${"A".repeat(Math.floor(bytes / 3) * 4)}${["", "AA==", "AAA="][bytes % 3]}`;
    const frame = decode(
      send({ content: "x".repeat(limits.content), media: `data:image/webp;base64,${base64}` }),
      "client",
    );
    expect(frame).toMatchObject({ payload: { media: [{ type: "image/webp" }] } });
  });
});

describe("a server's frames", () => {
  const read = (type: string, payload: object) =>
    decode(JSON.stringify({ type, payload }), "server");

  test("a message keeps what a client shows and drops what it must not", () => {
    const payload = {
      message_id: "a",
      content: "x",
      kind: "thought",
      thought: true,
      tool_calls: [{ name: "f" }],
      placeholder: true,
      attachments: [
        { type: "image", url: "https://example.org/a.png", filename: "a.png" },
        { url: "javascript:alert(1)" },
      ],
      model_name: "m",
      context_usage: { used: 1 },
      colour: "red",
    };
    const { colour, attachments, ...rest } = payload;
    expect(read("message.create", payload)).toEqual({
      type: "message.create",
      payload: { ...rest, attachments: [attachments[0]] },
    });
  });

  test.each(["message.create", "media.create"])("%s may come without a message_id", (type) => {
    expect(read(type, { content: "x" })).toEqual({
      type,
      payload: { message_id: "", content: "x" },
    });
  });

  test.each(["message.update", "message.delete"])("%s needs a message_id", (type) => {
    expect(refusal(() => read(type, { content: "x" })).code).toBe("invalid_message");
    expect(read(type, { message_id: "a", content: "x" })).toMatchObject({
      type,
      payload: { message_id: "a" },
    });
  });

  test("error and pong are read", () => {
    const payload = { code: "busy", message: "later", request_id: "m" };
    expect(read("error", payload)).toEqual({ type: "error", payload });
    expect(decode('{"type":"pong","id":"p"}', "server")).toEqual({ type: "pong", id: "p" });
  });

  test("code and message of an error are cut where they say too much", () => {
    const payload = {
      code: "c".repeat(5_000),
      message: `${"m".repeat(999)}\u{1f600}${"m".repeat(5_000)}`,
    };
    const read = decode(JSON.stringify({ type: "error", payload }), "server");
    expect(read).toEqual({
      type: "error",
      payload: { code: "c".repeat(1_000), message: `${"m".repeat(999)}\ufffd` },
    });
  });

  test("__proto__ in what is handed on unread is left out", () => {
    const text =
      '{"type":"message.create","payload":{"message_id":"a","content":"","context_usage":{"__proto__":{"x":1},"used":2}}}';
    const frame = decode(text, "server");
    expect(frame).toEqual({
      type: "message.create",
      payload: { message_id: "a", content: "", context_usage: { used: 2 } },
    });
  });
});

describe("extension 1", () => {
  const hello = {
    version: 1,
    conn_id: "c",
    session_id: "s",
    epoch: "e",
    seq: 7,
    resumed: true,
    replay: 2,
    gap: false,
    ping_interval: 30,
    read_timeout: 60,
    max_payload: 1024,
    window: { frames: 256, bytes: 524_288, ttl_s: 300 },
    retry: { min: 500, max: 30_000 },
  };
  const server = (frame: object) => decode(JSON.stringify(frame), "server");

  test("hello, message.ack and gap are a server's frames", () => {
    for (const frame of [
      { type: "hello", payload: hello },
      { type: "message.ack", payload: { request_id: "m1", status: "duplicate" } },
      { type: "gap", payload: { from: 3, to: 5, reason: "overflow" } },
      { type: "gap", payload: { reason: "epoch_changed" } },
    ]) {
      expect(server(frame)).toEqual(frame);
      expect(refusal(() => decode(JSON.stringify(frame), "client")).code).toBe("unknown_type");
    }
  });

  test("ack is a client's frame and needs its number", () => {
    expect(decode('{"type":"ack","payload":{"seq":9}}', "client")).toEqual({
      type: "ack",
      payload: { seq: 9 },
    });
    for (const seq of [undefined, -1, 1.5, "9"]) {
      expect(
        refusal(() => decode(JSON.stringify({ type: "ack", payload: { seq } }), "client")).code,
      ).toBe("invalid_message");
    }
    expect(refusal(() => server({ type: "ack", payload: { seq: 9 } })).code).toBe("unknown_type");
  });

  test.each(["conn_id", "session_id", "epoch"])("a hello without %s is refused", (key) => {
    expect(
      refusal(() => server({ type: "hello", payload: { ...hello, [key]: undefined } })).code,
    ).toBe("invalid_message");
  });

  test("numbers a hello does not say are 0", () => {
    const frame = server({
      type: "hello",
      payload: { conn_id: "c", session_id: "s", epoch: "e", window: 5, seq: -3 },
    });
    expect(frame).toMatchObject({
      payload: { seq: 0, resumed: false, gap: false, window: { frames: 0 }, retry: { max: 0 } },
    });
  });

  test("a frame's number stands beside its type, and only with its epoch", () => {
    const frame = {
      type: "message.update",
      seq: 4,
      epoch: "e",
      payload: { message_id: "m", content: "x", final: true },
    };
    expect(server(frame)).toEqual(frame);
    expect(server({ ...frame, epoch: undefined })).not.toHaveProperty("seq");
    expect(
      server({ type: "message.delete", seq: 5, epoch: "e", payload: { message_id: "m" } }),
    ).toHaveProperty("seq", 5);
  });
});

test("a posted message has its names beside the content", () => {
  expect(decodeRequest('{"session_id":"s","id":"m","content":"hi"}')).toEqual({
    id: "m",
    session_id: "s",
    payload: { content: "hi", media: [], hops: 0 },
  });
  expect(refusal(() => decodeRequest('{"id":"m","content":""}'))).toMatchObject({
    code: "empty_content",
    requestId: "m",
  });
  expect(refusal(() => decodeRequest("nope")).code).toBe("invalid_message");
});
