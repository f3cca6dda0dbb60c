import { encode, type ServerFrame } from "../../lib/pico-wire/index.ts";
import { frameText, flattenFrame, payloadOf, type EncodedFrame } from "./framed.ts";
import type { Cursor, LogEntry, SequencedEntry } from "./session-log.ts";

/** Printable ASCII that needs no escape: it is its own JSON, and one byte for each character. */
const isPlain = (text: string): boolean => !/[^ !#-[\]-~]/.test(text);

let timestampOf = 0;
let timestampText = "0";

/** Most messages of a turn have the same time. */
function formatTimestamp(now: number): string {
  if (now !== timestampOf) {
    timestampOf = now;
    timestampText = JSON.stringify(now);
  }
  return timestampText;
}

/** A message that is text and nothing else. */
export interface TextMessage {
  readonly type: "message.create" | "message.update";
  readonly session: string;
  readonly id: string;
  readonly content: string;
  /** The message it answers. */
  readonly request: string | undefined;
  readonly final: boolean | undefined;
}

/** What `encode` writes of it; undefined when a part of it needs more than quotes. */
export function encodeTextMessage(
  { type, session, id, content, request, final }: TextMessage,
  now: number,
): string | undefined {
  if (!isPlain(content) || !isPlain(id) || !isPlain(session)) return undefined;
  if (request !== undefined && !isPlain(request)) return undefined;
  const about = request === undefined ? "" : `,"request_id":"${request}"`;
  const end = final ? ',"final":true' : "";
  return (
    `{"type":"${type}","payload":{"message_id":"${id}","content":"${content}"${about}${end}},` +
    `"session_id":"${session}","timestamp":${formatTimestamp(now)}}`
  );
}

/** An answer to one peer, as `encode` writes it with the time behind it. */
export function encodeAnswer(frame: ServerFrame, now: number): string {
  if (frame.type !== "message.ack") return encode({ ...frame, timestamp: now });
  const {
    session_id: session,
    payload: { request_id: id, status },
  } = frame;
  if (session === undefined || !isPlain(session) || !isPlain(id))
    return encode({ ...frame, timestamp: now });
  return (
    `{"type":"message.ack","session_id":"${session}","payload":{"request_id":"${id}","status":"${status}"},` +
    `"timestamp":${formatTimestamp(now)}}`
  );
}

/** A frame that was written once, header included, for all who hear it. */
export class EncodedEntry implements LogEntry {
  readonly type: ServerFrame["type"];
  framed: EncodedFrame;
  readonly numbered: boolean;
  readonly message: string | undefined;

  /** `text` has so many bytes as UTF-8. */
  constructor(
    type: ServerFrame["type"],
    text: string,
    byteLength: number,
    numbered: boolean,
    message: string | undefined,
  ) {
    this.type = type;
    this.framed = frameText(text, byteLength);
    this.numbered = numbered;
    this.message = message;
  }

  get frame(): Uint8Array {
    return payloadOf(this.framed);
  }

  rest(): void {
    this.framed = flattenFrame(this.framed);
  }
}

/** What listeners hear of an entry, whose frame is read where somebody needs it. */
export class DeliveredEntry implements SequencedEntry {
  readonly session: string;
  readonly cursor: Cursor;
  readonly numbered: boolean;
  readonly message: string | undefined;
  private readonly entry: LogEntry;

  constructor(session: string, cursor: Cursor, entry: LogEntry) {
    this.session = session;
    this.cursor = cursor;
    this.numbered = entry.numbered;
    this.message = entry.message;
    this.entry = entry;
  }

  get frame(): Uint8Array {
    return this.entry.frame;
  }

  get framed(): EncodedFrame | undefined {
    return this.entry.framed;
  }

  get type(): ServerFrame["type"] | undefined {
    return this.entry.type;
  }
}
