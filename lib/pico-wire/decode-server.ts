import { isCount, readFrame, readName, readObject, readText } from "./envelope.ts";
import { WireError } from "./errors.ts";
import { asObject, harmless, own, type Json } from "./json.ts";
import { readAttachments } from "./media.ts";
import type {
  Envelope,
  ErrorPayload,
  Gap,
  Hello,
  MessageAckFrame,
  Numbered,
  ServerFrame,
  ServerMessage,
} from "./messages.ts";
import { isId, isSessionId } from "./text.ts";

/** A server's frame. Throws `WireError` and nothing else, whatever the input; unknown keys are ignored. `base`: the
 *  `http:` or `https:` address of the server, against which attachments with a path are resolved. */
export function decodeServer(input: string | Uint8Array, base?: string): ServerFrame {
  const object = readObject(input, "A frame");
  return readFrame(object, (type, envelope, payload) =>
    read(type, envelope, payload, { object, base }),
  );
}

interface Whole {
  readonly object: Json;
  readonly base: string | undefined;
}

function read(
  type: string,
  envelope: Envelope,
  payload: Json,
  { object, base }: Whole,
): ServerFrame {
  switch (type) {
    case "message.create":
    case "media.create":
    case "message.update":
      if (type === "message.update") needed(payload, "message_id");
      return {
        type,
        ...envelope,
        ...readNumber(object),
        payload: readServerMessage(payload, base),
      };
    case "message.delete":
      return {
        type,
        ...envelope,
        ...readNumber(object),
        payload: { message_id: needed(payload, "message_id") },
      };
    case "error":
      return { type, ...envelope, payload: readError(payload) };
    case "hello":
      return { type, ...envelope, payload: readHello(payload) };
    case "message.ack":
      return { type, ...envelope, payload: readAck(payload) };
    case "gap":
      return { type, ...envelope, payload: readGap(payload) };
    case "pong":
    case "typing.start":
    case "typing.stop":
      return { type, ...envelope };
    default:
      throw new WireError("unknown_type", "Unknown type.");
  }
}

function needed(payload: Json, key: string, fits = isId): string {
  const name = readName(payload, key, fits);
  if (name === undefined) throw new WireError("invalid_message", `"${key}" is missing.`);
  return name;
}

/** Both or neither: a number means nothing without its epoch. */
function readNumber(object: Json): Numbered {
  const seq = own(object, "seq");
  const epoch = readName(object, "epoch", isId);
  return isCount(seq) && epoch !== undefined ? { seq, epoch } : {};
}

const readRequest = (payload: Json): { readonly request_id?: string } => {
  const request_id = readName(payload, "request_id", isId);
  return request_id ? { request_id } : {};
};

/** What is said to people and kept in logs; a frame could hold megabytes of it. */
const readSentence = (payload: Json, key: string): string =>
  readText(payload, key).slice(0, 1_000).toWellFormed();

const readError = (payload: Json): ErrorPayload => ({
  code: readSentence(payload, "code"),
  message: readSentence(payload, "message"),
  ...readRequest(payload),
});

const readAck = (payload: Json): MessageAckFrame["payload"] => ({
  request_id: needed(payload, "request_id"),
  status: own(payload, "status") === "duplicate" ? "duplicate" : "accepted",
});

function readGap(payload: Json): Gap {
  const from = own(payload, "from");
  const to = own(payload, "to");
  return { ...(isCount(from) && isCount(to) && { from, to }), reason: needed(payload, "reason") };
}

const readHello = (payload: Json): Hello => ({
  conn_id: needed(payload, "conn_id"),
  session_id: needed(payload, "session_id", isSessionId),
  epoch: needed(payload, "epoch"),
  resumed: own(payload, "resumed") === true,
  gap: own(payload, "gap") === true,
  ...counts(payload, "version", "seq", "replay", "ping_interval", "read_timeout", "max_payload"),
  window: counts(part(payload, "window"), "frames", "bytes", "ttl_s"),
  retry: counts(part(payload, "retry"), "min", "max"),
});

const part = (payload: Json, key: string): Json => asObject(own(payload, key)) ?? {};

/** Zero: not said. */
function counts<K extends string>(
  object: Json,
  ...keys: readonly K[]
): { readonly [P in K]: number } {
  const entries = keys.map((key) => [key, isCount(own(object, key)) ? own(object, key) : 0]);
  return Object.fromEntries(entries) as { [P in K]: number };
}

function readServerMessage(payload: Json, base: string | undefined): ServerMessage {
  const kind = own(payload, "kind");
  const calls = own(payload, "tool_calls");
  const usage = own(payload, "context_usage");
  const attachments = readAttachments(own(payload, "attachments"), base);
  const model_name = readText(payload, "model_name");
  return {
    message_id: readName(payload, "message_id", isId) ?? "",
    content: readText(payload, "content"),
    ...readRequest(payload),
    ...((kind === "thought" || kind === "tool_calls") && { kind }),
    ...(own(payload, "thought") === true && { thought: true }),
    ...(Array.isArray(calls) && { tool_calls: harmless(calls) as unknown[] }),
    ...(own(payload, "placeholder") === true && { placeholder: true }),
    ...(own(payload, "final") === true && { final: true }),
    ...(attachments.length > 0 && { attachments }),
    ...(model_name !== "" && { model_name }),
    ...(usage !== undefined && { context_usage: harmless(usage) }),
  };
}
