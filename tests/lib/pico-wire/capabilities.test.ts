import { describe, expect, test } from "vitest";
import { decode, decodeStopRequest, encode, WireError } from "../../../lib/pico-wire/index.ts";

const server = (frame: object) => decode(JSON.stringify(frame), "server");
const client = (frame: object) => decode(JSON.stringify(frame), "client");
const codeOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    if (error instanceof WireError) return error.code;
  }
  return "accepted";
};

describe("decode: frames of pico_can", () => {
  test("reads a stop of one message and of all", () => {
    expect(client({ type: "message.stop", id: "s", payload: { request_id: "m" } })).toEqual({
      type: "message.stop",
      id: "s",
      payload: { request_id: "m" },
    });
    expect(client({ type: "message.stop" })).toEqual({ type: "message.stop", payload: {} });
    const broken = { type: "message.stop", payload: { request_id: 7 } };
    expect(codeOf(() => client(broken))).toBe("invalid_message");
  });

  test("reads a posted stop", () => {
    const body = '{"session_id":"ann","request_id":"m","more":1}';
    expect(decodeStopRequest(body)).toEqual({ session_id: "ann", request_id: "m" });
    expect(codeOf(() => decodeStopRequest("[]"))).toBe("invalid_message");
  });

  test("reads the results of a stop", () => {
    const stopped = [{ request_id: "m", status: "stopping" }];
    const frame = { type: "stop.ack", payload: { request_id: "s", stopped } } as const;
    expect(decode(encode(frame), "server")).toEqual(frame);
    expect(server({ type: "stop.ack", payload: {} })).toEqual({
      type: "stop.ack",
      payload: { stopped: [] },
    });
  });

  test("reads the end of an answer", () => {
    const payload = {
      request_id: "m",
      outcome: "failed",
      code: "no_answer",
      finish_reason: "error",
      usage: { input_tokens: 1 },
    };
    expect(server({ type: "answer.end", payload })).toEqual({ type: "answer.end", payload });
    expect(codeOf(() => server({ type: "answer.end", payload: {} }))).toBe("invalid_message");
  });

  test("drops suggestions that a page cannot offer", () => {
    const end = { request_id: "m", outcome: "completed", finish_reason: "stop" };
    const read = (suggestions: unknown) =>
      server({ type: "answer.end", payload: { ...end, suggestions } });
    expect(read(["a", "x".repeat(81), " ", 5, "b", "c", "d", "e"])).toMatchObject({
      payload: { suggestions: ["a", "b", "c", "d"] },
    });
    expect(read([""])).toEqual({ type: "answer.end", payload: end });
  });

  test("reads a turn with its position and drops unsafe addresses", () => {
    const payload = {
      message_id: "u",
      request_id: "m",
      content: "hello",
      media: [
        { content_type: "image/png", url: "data:image/png;base64,AA==", filename: "a.png" },
        { content_type: "image/png", url: "javascript:alert(1)" },
        "unknown",
      ],
      attachments: [],
      sender: { id: "owner", name: "Ann" },
      door: "pico",
      replaces: "l",
    };
    const [first] = payload.media;
    expect(server({ type: "message.user", seq: 3, epoch: "e", payload })).toEqual({
      type: "message.user",
      seq: 3,
      epoch: "e",
      payload: { ...payload, media: [first] },
    });
  });

  test("reads the position of an acknowledgement", () => {
    const payload = { request_id: "m", status: "accepted" };
    expect(server({ type: "message.ack", seq: 4, epoch: "e", payload })).toMatchObject({ seq: 4 });
  });

  test("returns a numbered frame of an unknown type by its number", () => {
    const frame = { type: "message.sing", seq: 5, epoch: "e", payload: { text: "la" } };
    expect(server(frame)).toEqual({ type: "unknown", seq: 5, epoch: "e" });
    expect(codeOf(() => server({ type: "message.sing" }))).toBe("unknown_type");
  });
});
