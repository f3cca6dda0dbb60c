// Decodes the frames of servers.
import { isCount, readFrame, readName, readObject, readText } from "./envelope.ts";
import { WireError } from "./errors.ts";
import {
  asObject,
  withoutPrototypeKeys,
  ownValue,
  isId,
  isSessionId,
  type JsonObject,
} from "./json.ts";
import { readAttachments } from "./media.ts";
import { readQuestion, readQuestionAck } from "./question.ts";
import type {
  AnswerEndPayload,
  AppendPayload,
  StopAckFrame,
  UserTurn,
  Envelope,
  ErrorPayload,
  Gap,
  Hello,
  MessageAckFrame,
  StreamPosition,
  ReceivedFrame,
  ServerMessage,
} from "./messages.ts";

/**
 * Decodes a frame of a server. Unknown keys are ignored.
 *
 * @param base - The `http:` or `https:` address of the server. Attachments with a path are resolved
 * against it.
 * @throws WireError and nothing else, whatever the input.
 */
export function decodeServer(input: string | Uint8Array, base?: string): ReceivedFrame {
  const object = readObject(input, "A frame");
  return readFrame(object, (type, envelope, payload) =>
    decodeBody(type, envelope, payload, { object, base }),
  );
}

interface FrameSource {
  readonly object: JsonObject;
  readonly base: string | undefined;
}

function decodeBody(
  type: string,
  envelope: Envelope,
  payload: JsonObject,
  { object, base }: FrameSource,
): ReceivedFrame {
  switch (type) {
    case "message.create":
    case "media.create":
    case "message.update":
      if (type === "message.update") requireName(payload, "message_id");
      return {
        type,
        ...envelope,
        ...readPosition(object),
        payload: readServerMessage(payload, base),
      };
    case "message.delete":
      return {
        type,
        ...envelope,
        ...readPosition(object),
        payload: { message_id: requireName(payload, "message_id") },
      };
    case "error":
      return { type, ...envelope, payload: readError(payload) };
    case "notice":
      return { type, ...envelope, payload: readError(payload) };
    case "hello":
      return { type, ...envelope, payload: readHello(payload) };
    case "message.ack":
      return { type, ...envelope, ...readPosition(object), payload: readAck(payload) };
    case "message.append":
      return { type, ...envelope, ...readPosition(object), payload: readAppend(payload) };
    case "message.user":
      return { type, ...envelope, ...readPosition(object), payload: readTurn(payload, base) };
    case "stop.ack":
      return { type, ...envelope, payload: readStopAck(payload) };
    case "question.ack":
      return { type, ...envelope, payload: readQuestionAck(payload) };
    case "answer.end":
      return { type, ...envelope, payload: readEnd(payload) };
    case "gap":
      return { type, ...envelope, payload: readGap(payload) };
    case "pong":
    case "typing.start":
    case "typing.stop":
      return { type, ...envelope };
    default:
      return readUnknown(envelope, readPosition(object));
  }
}

/** A numbered frame counts, whatever its type, so that the stream has no hole. */
function readUnknown(envelope: Envelope, position: StreamPosition): ReceivedFrame {
  if (position.seq === undefined) throw new WireError("unknown_type", "Unknown type.");
  return { type: "unknown", ...envelope, ...position };
}

function requireName(payload: JsonObject, key: string, fits = isId): string {
  const name = readName(payload, key, fits);
  if (name === undefined) throw new WireError("invalid_message", `"${key}" is missing.`);
  return name;
}

/** Reads both fields or neither: a number has no meaning without its epoch. */
function readPosition(object: JsonObject): StreamPosition {
  const seq = ownValue(object, "seq");
  const epoch = readName(object, "epoch", isId);
  return isCount(seq) && epoch !== undefined ? { seq, epoch } : {};
}

const readRequestId = (payload: JsonObject): { readonly request_id?: string } => {
  const request_id = readName(payload, "request_id", isId);
  return request_id ? { request_id } : {};
};

/** Text for users and logs, limited because a frame could contain megabytes of it. */
const readDisplayText = (payload: JsonObject, key: string): string =>
  readText(payload, key).slice(0, 1_000).toWellFormed();

const readError = (payload: JsonObject): ErrorPayload => ({
  code: readDisplayText(payload, "code"),
  message: readDisplayText(payload, "message"),
  ...readRequestId(payload),
});

const readAck = (payload: JsonObject): MessageAckFrame["payload"] => ({
  request_id: requireName(payload, "request_id"),
  status: ownValue(payload, "status") === "duplicate" ? "duplicate" : "accepted",
});

function readAppend(payload: JsonObject): AppendPayload {
  const at = ownValue(payload, "at");
  if (!isCount(at)) throw new WireError("invalid_message", '"at" must be a whole number from 0.');
  return {
    message_id: requireName(payload, "message_id"),
    at,
    content: readText(payload, "content"),
    ...(ownValue(payload, "final") === true && { final: true }),
  };
}

function readTurn(payload: JsonObject, base: string | undefined): UserTurn {
  const sender = asObject(ownValue(payload, "sender"));
  const replaces = readName(payload, "replaces", isId);
  const results = ownValue(payload, "tool_results");
  return {
    message_id: requireName(payload, "message_id"),
    request_id: requireName(payload, "request_id"),
    content: readText(payload, "content"),
    media: readAttachments(ownValue(payload, "media"), base),
    attachments: readAttachments(ownValue(payload, "attachments"), base),
    ...(sender && { sender: { id: readDisplayText(sender, "id"), ...readTexts(sender, "name") } }),
    door: readDisplayText(payload, "door"),
    ...(replaces !== undefined && { replaces }),
    ...(Array.isArray(results) && { tool_results: withoutPrototypeKeys(results) as unknown[] }),
  };
}

/** Reads texts for users. Empty ones are absent. */
const readTexts = <K extends string>(
  object: JsonObject,
  ...keys: readonly K[]
): { readonly [P in K]?: string } =>
  Object.fromEntries(
    keys.map((key) => [key, readDisplayText(object, key)]).filter(([, text]) => text),
  ) as { [P in K]?: string };

function readStopAck(payload: JsonObject): StopAckFrame["payload"] {
  const list = ownValue(payload, "stopped");
  const items = Array.isArray(list) ? list.map((item) => asObject(item) ?? {}) : [];
  return {
    ...readRequestId(payload),
    stopped: items.map((item) => ({
      request_id: requireName(item, "request_id"),
      status: readDisplayText(item, "status"),
    })),
  };
}

function readEnd(payload: JsonObject): AnswerEndPayload {
  const usage = ownValue(payload, "usage");
  return {
    request_id: requireName(payload, "request_id"),
    outcome: readDisplayText(payload, "outcome"),
    ...readTexts(payload, "code", "message"),
    finish_reason: readDisplayText(payload, "finish_reason"),
    ...(usage !== undefined && { usage: withoutPrototypeKeys(usage) }),
    ...readSuggestions(ownValue(payload, "suggestions")),
  };
}

/** Drops what a page cannot offer. */
function readSuggestions(value: unknown): Pick<AnswerEndPayload, "suggestions"> {
  const isSuggestion = (text: unknown): text is string =>
    typeof text === "string" && text.trim() !== "" && text.length <= 80;
  const suggestions = Array.isArray(value) ? value.filter(isSuggestion).slice(0, 4) : [];
  return suggestions.length > 0 ? { suggestions } : {};
}

function readGap(payload: JsonObject): Gap {
  const from = ownValue(payload, "from");
  const to = ownValue(payload, "to");
  return {
    ...(isCount(from) && isCount(to) && { from, to }),
    reason: requireName(payload, "reason"),
  };
}

const readHello = (payload: JsonObject): Hello => ({
  conn_id: requireName(payload, "conn_id"),
  session_id: requireName(payload, "session_id", isSessionId),
  epoch: requireName(payload, "epoch"),
  resumed: ownValue(payload, "resumed") === true,
  gap: ownValue(payload, "gap") === true,
  ...numberFields(
    payload,
    "version",
    "seq",
    "replay",
    "ping_interval",
    "read_timeout",
    "max_payload",
  ),
  window: numberFields(objectField(payload, "window"), "frames", "bytes", "ttl_s"),
  retry: numberFields(objectField(payload, "retry"), "min", "max"),
  ...textList(payload, "can"),
  ...textList(payload, "questions"),
});

function textList<K extends "can" | "questions">(payload: JsonObject, key: K): Pick<Hello, K> {
  const list = ownValue(payload, key);
  return (Array.isArray(list) ? { [key]: list.map(String) } : {}) as unknown as Pick<Hello, K>;
}

const objectField = (payload: JsonObject, key: string): JsonObject =>
  asObject(ownValue(payload, key)) ?? {};

/** Missing numbers become 0. */
function numberFields<K extends string>(
  object: JsonObject,
  ...keys: readonly K[]
): { readonly [P in K]: number } {
  const entries = keys.map((key) => [
    key,
    isCount(ownValue(object, key)) ? ownValue(object, key) : 0,
  ]);
  return Object.fromEntries(entries) as { [P in K]: number };
}

const kinds: readonly unknown[] = ["thought", "tool_calls", "plan", "notice"];
const isKind = (kind: unknown): kind is NonNullable<ServerMessage["kind"]> => kinds.includes(kind);

function readServerMessage(payload: JsonObject, base: string | undefined): ServerMessage {
  const kind = ownValue(payload, "kind");
  const calls = ownValue(payload, "tool_calls");
  const entries = ownValue(payload, "entries");
  const usage = ownValue(payload, "context_usage");
  const attachments = readAttachments(ownValue(payload, "attachments"), base);
  const model_name = readText(payload, "model_name");
  const question = readQuestion(ownValue(payload, "question"));
  return {
    message_id: readName(payload, "message_id", isId) ?? "",
    content: readText(payload, "content"),
    ...readRequestId(payload),
    ...(isKind(kind) && { kind }),
    ...(ownValue(payload, "thought") === true && { thought: true }),
    ...(Array.isArray(calls) && { tool_calls: withoutPrototypeKeys(calls) as unknown[] }),
    ...(Array.isArray(entries) && { entries: withoutPrototypeKeys(entries) as unknown[] }),
    ...(ownValue(payload, "placeholder") === true && { placeholder: true }),
    ...(ownValue(payload, "final") === true && { final: true }),
    ...(attachments.length > 0 && { attachments }),
    ...(model_name !== "" && { model_name }),
    ...(usage !== undefined && { context_usage: withoutPrototypeKeys(usage) }),
    ...(question && { question }),
  };
}
