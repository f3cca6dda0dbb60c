// Reads the frames of other nodes as calls of a subscriber of the plugin API for protocols.
import {
  decode,
  type AnswerEndPayload,
  type Attachment,
  type ReceivedFrame,
  type ServerMessage,
  type UserTurnFrame,
} from "../../lib/pico-wire/index.ts";
import { defined } from "../../lib/util.ts";
import type {
  AnswerEnd,
  InboundMessage,
  Media,
  OutboundMessage,
  ToolCall,
  Usage,
} from "../channels/index.ts";
import type { ProtocolSubscriber } from "./protocol-service.ts";

/** One call of a subscriber. */
export type ProtocolCall = (subscriber: ProtocolSubscriber) => void;

const outcomes = ["completed", "stopped", "failed"] as const;
const finishReasons = ["stop", "length", "content_filter", "stopped", "error"] as const;

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const textOf = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

const toMedia = ({ type, url, filename, content_type }: Partial<Attachment>): Media => ({
  type: content_type ?? type ?? "file",
  ...(url !== undefined && { url }),
  ...(filename !== undefined && { filename }),
});

export function toToolCall(given: unknown): ToolCall[] {
  if (!isFields(given) || !isFields(given["function"])) return [];
  const { id } = given;
  const { name, arguments: text } = given["function"];
  if (typeof id !== "string" || typeof name !== "string" || typeof text !== "string") return [];
  const result = textOf(given["result"]);
  const error = textOf(given["error"]);
  const outcome = {
    ...(given["for"] === "client" && { for: "client" as const }),
    ...(result !== undefined && { result }),
    ...(error !== undefined && { error }),
  };
  // The node that wrote the frame has validated these.
  const { title, kind, state, details, locations } = given as Partial<ToolCall>;
  const step = defined({ title, kind, state, details, locations });
  return [{ id, name, arguments: text, ...outcome, ...step }];
}

function toMessage(payload: ServerMessage): OutboundMessage {
  const { content, kind, placeholder, request_id, tool_calls, attachments, model_name } = payload;
  const entries = payload.entries as OutboundMessage["entries"];
  return {
    content,
    ...(kind && { kind }),
    ...(placeholder && { placeholder }),
    ...(request_id !== undefined && { inReplyTo: request_id }),
    ...(tool_calls && { toolCalls: tool_calls.flatMap(toToolCall) }),
    ...(entries && { entries }),
    ...(attachments && { attachments: attachments.map(toMedia) }),
    ...(model_name !== undefined && { model: model_name }),
  };
}

function toTurn({ payload, timestamp = 0 }: UserTurnFrame, session: string): InboundMessage {
  const { request_id: id, content, media, sender, door, replaces } = payload;
  const about = { channel: "pico", session, id, content, media: media.map(toMedia) };
  const optional = { ...(sender && { sender }), ...(replaces !== undefined && { replaces }) };
  return { ...about, ...optional, protocol: door, at: timestamp, hops: 0 };
}

const usageKeys = [
  ["input", "input_tokens"],
  ["output", "output_tokens"],
  ["reasoning", "reasoning_tokens"],
  ["cached", "cached_tokens"],
] as const;

const toUsage = (given: Fields): Usage =>
  Object.fromEntries(
    usageKeys.flatMap(([name, key]) =>
      typeof given[key] === "number" ? [[name, given[key]]] : [],
    ),
  ) as Usage;

/** The frame does not contain the number of messages, so that is 0. */
function toEnd(payload: AnswerEndPayload): AnswerEnd {
  const { outcome, finish_reason: reason, code, message, usage, suggestions } = payload;
  return {
    outcome: outcomes.find((name) => name === outcome) ?? "completed",
    finishReason: finishReasons.find((name) => name === reason) ?? "stop",
    messages: 0,
    ...(code !== undefined && { code }),
    ...(message !== undefined && { message }),
    ...(isFields(usage) && { usage: toUsage(usage) }),
    ...(suggestions && { suggestions }),
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
export function toProtocolCall(session: string, frame: Uint8Array): ProtocolCall | undefined {
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
