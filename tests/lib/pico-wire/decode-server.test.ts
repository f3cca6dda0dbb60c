import { describe, expect, test } from "vitest";
import { decode } from "../../../lib/pico-wire/index.ts";
import { errorOf } from "../../support/wire-errors.ts";
describe("decode: server frames", () => {
  const read = (type: string, payload: object) =>
    decode(JSON.stringify({ type, payload }), "server");

  test("keeps displayable fields and drops unsafe ones", () => {
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

  test.each(["message.create", "media.create"])("accepts %s without a message_id", (type) => {
    expect(read(type, { content: "x" })).toEqual({
      type,
      payload: { message_id: "", content: "x" },
    });
  });

  test.each(["message.update", "message.delete"])("%s needs a message_id", (type) => {
    expect(errorOf(() => read(type, { content: "x" })).code).toBe("invalid_message");
    expect(read(type, { message_id: "a", content: "x" })).toMatchObject({
      type,
      payload: { message_id: "a" },
    });
  });

  test("decodes error and pong", () => {
    const payload = { code: "busy", message: "later", request_id: "m" };
    expect(read("error", payload)).toEqual({ type: "error", payload });
    expect(decode('{"type":"pong","id":"p"}', "server")).toEqual({ type: "pong", id: "p" });
  });

  test("truncates long codes and messages of errors", () => {
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

  test("removes __proto__ from unread values", () => {
    const text =
      '{"type":"message.create","payload":{"message_id":"a","content":"",' +
      '"context_usage":{"__proto__":{"x":1},"used":2}}}';
    const frame = decode(text, "server");
    expect(frame).toEqual({
      type: "message.create",
      payload: { message_id: "a", content: "", context_usage: { used: 2 } },
    });
  });
});

describe("decode: frames of extension 1", () => {
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

  test("decodes hello, message.ack and gap as server frames", () => {
    for (const frame of [
      { type: "hello", payload: hello },
      { type: "message.ack", payload: { request_id: "m1", status: "duplicate" } },
      { type: "gap", payload: { from: 3, to: 5, reason: "overflow" } },
      { type: "gap", payload: { reason: "epoch_changed" } },
    ]) {
      expect(server(frame)).toEqual(frame);
      expect(errorOf(() => decode(JSON.stringify(frame), "client")).code).toBe("unknown_type");
    }
  });

  test("decodes ack as a client frame that needs its number", () => {
    expect(decode('{"type":"ack","payload":{"seq":9}}', "client")).toEqual({
      type: "ack",
      payload: { seq: 9 },
    });
    for (const seq of [undefined, -1, 1.5, "9"]) {
      expect(
        errorOf(() => decode(JSON.stringify({ type: "ack", payload: { seq } }), "client")).code,
      ).toBe("invalid_message");
    }
    expect(errorOf(() => server({ type: "ack", payload: { seq: 9 } })).code).toBe("unknown_type");
  });

  test.each(["conn_id", "session_id", "epoch"])("rejects a hello without %s", (key) => {
    expect(
      errorOf(() => server({ type: "hello", payload: { ...hello, [key]: undefined } })).code,
    ).toBe("invalid_message");
  });

  test("sets missing numbers of a hello to 0", () => {
    const frame = server({
      type: "hello",
      payload: { conn_id: "c", session_id: "s", epoch: "e", window: 5, seq: -3 },
    });
    expect(frame).toMatchObject({
      payload: { seq: 0, resumed: false, gap: false, window: { frames: 0 }, retry: { max: 0 } },
    });
  });

  test("accepts a sequence number only together with its epoch", () => {
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
