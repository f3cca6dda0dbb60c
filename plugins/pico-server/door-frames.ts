// Reads the frames of other nodes as calls to a subscriber of a protocol plugin.
import {
  decode,
  type AnswerEndPayload,
  type Attachment,
  type ReceivedFrame,
  type ServerMessage,
  type UserTurnFrame,
} from "../../lib/pico-wire/index.ts";
import { defined, isObject } from "../../lib/util.ts";
import type {
  AnswerEnd,
  InboundMessage,
  Media,
  OutboundMessage,
  ToolCall,
  Usage,
} from "../channels/index.ts";
import type { DoorSubscriber } from "./door-service.ts";

/** One call of a subscriber. */
export type DoorCall = (subscriber: DoorSubscriber) => void;

const outcomes = ["completed", "stopped", "failed"] as const;
const finishReasons = ["stop", "length", "content_filter", "stopped", "error"] as const;

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;
const countOf = (value: unknown): number | undefined =>
  typeof value === "number" ? value : undefined;

const toMedia = ({ type, url, filename, content_type }: Partial<Attachment>): Media => ({
  type: content_type ?? type ?? "file",
  ...defined({ url, filename }),
});

function toToolCall(given: unknown): ToolCall[] {
  if (!isObject(given) || !isObject(given.function)) return [];
  const { id, result, error } = given;
  const { name, arguments: text } = given.function;
  if (typeof id !== "string" || typeof name !== "string" || typeof text !== "string") return [];
  const outcome = defined({ result: textOf(result), error: textOf(error) });
  return [{ id, name, arguments: text, ...outcome }];
}

function toMessage(payload: ServerMessage): OutboundMessage {
  const { content, kind, placeholder, request_id, tool_calls, attachments, model_name } = payload;
  const optional = {
    kind,
    placeholder,
    inReplyTo: request_id,
    toolCalls: tool_calls?.flatMap(toToolCall),
    attachments: attachments?.map(toMedia),
    model: model_name,
  };
  return { content, ...defined(optional) };
}

function toTurn({ payload, timestamp = 0 }: UserTurnFrame, session: string): InboundMessage {
  const { request_id: id, content, media, sender, door, replaces } = payload;
  const optional = defined({ sender, replaces });
  const about = { channel: "pico", session, id, content, media: media.map(toMedia) };
  return { ...about, ...optional, door, at: timestamp, hops: 0 };
}

const toUsage = (given: Readonly<Record<string, unknown>>): Usage =>
  defined({
    input: countOf(given["input_tokens"]),
    output: countOf(given["output_tokens"]),
    reasoning: countOf(given["reasoning_tokens"]),
    cached: countOf(given["cached_tokens"]),
  });

/** The frame does not contain the number of messages, so that is 0. */
function toEnd({ outcome, finish_reason: reason, code, usage }: AnswerEndPayload): AnswerEnd {
  return {
    outcome: outcomes.find((name) => name === outcome) ?? "completed",
    finishReason: finishReasons.find((name) => name === reason) ?? "stop",
    messages: 0,
    ...defined({ code, usage: isObject(usage) ? toUsage(usage) : undefined }),
  };
}

/** The error of an application on another node, which has written the message for the sender. */
const toError = (code: string, message: string): Error =>
  Object.assign(new Error(message), { name: "DoorwardError", code });

function decodeFrame(frame: Uint8Array): ReceivedFrame | undefined {
  try {
    return decode(frame, "server");
  } catch {
    // A node of a later version may append frames that this one does not know.
    return undefined;
  }
}

/** @returns Undefined for a frame that concerns no subscriber. */
export function toDoorCall(session: string, frame: Uint8Array): DoorCall | undefined {
  const decoded = decodeFrame(frame);
  switch (decoded?.type) {
    case "message.create":
    case "message.update": {
      const { payload } = decoded;
      const message = toMessage(payload);
      return (subscriber) =>
        subscriber.written(payload.message_id, message, payload.final === true);
    }
    case "message.delete":
      return (subscriber) => subscriber.removed(decoded.payload.message_id);
    case "message.user": {
      const turn = toTurn(decoded, session);
      return (subscriber) => subscriber.turned?.(turn);
    }
    case "error": {
      const { code, message, request_id: id } = decoded.payload;
      if (id === undefined) return undefined;
      return (subscriber) => subscriber.failed(id, toError(code, message));
    }
    case "answer.end": {
      const end = toEnd(decoded.payload);
      return (subscriber) => subscriber.ended(decoded.payload.request_id, end);
    }
    default:
      return undefined;
  }
}
