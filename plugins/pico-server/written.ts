import { encode, type ServerFrame } from "../../lib/pico-wire/index.ts";
import { framedText, inOnePiece, payloadOf, type Framed } from "./framed.ts";
import type { Cursor, Entry, Heard } from "./session-log.ts";

/** Printable ASCII that needs no escape: it is its own JSON, and one byte for each character. */
const isPlain = (text: string): boolean => !/[^ !#-[\]-~]/.test(text);

let stampedAt = 0;
let stamp = "0";

/** Most messages of a turn have the same time. */
function stampOf(now: number): string {
  if (now !== stampedAt) {
    stampedAt = now;
    stamp = JSON.stringify(now);
  }
  return stamp;
}

/** A message that is text and nothing else. */
export interface Text {
  readonly type: "message.create" | "message.update";
  readonly session: string;
  readonly id: string;
  readonly content: string;
  /** The message it answers. */
  readonly request: string | undefined;
  readonly final: boolean | undefined;
}

/** What `encode` writes of it; undefined when a part of it needs more than quotes. */
export function writeText(
  { type, session, id, content, request, final }: Text,
  now: number,
): string | undefined {
  if (!isPlain(content) || !isPlain(id) || !isPlain(session)) return undefined;
  if (request !== undefined && !isPlain(request)) return undefined;
  const about = request === undefined ? "" : `,"request_id":"${request}"`;
  const end = final ? ',"final":true' : "";
  return (
    `{"type":"${type}","payload":{"message_id":"${id}","content":"${content}"${about}${end}},` +
    `"session_id":"${session}","timestamp":${stampOf(now)}}`
  );
}

/** An answer to one peer, as `encode` writes it with the time behind it. */
export function writeAnswer(frame: ServerFrame, now: number): string {
  if (frame.type !== "message.ack") return encode({ ...frame, timestamp: now });
  const {
    session_id: session,
    payload: { request_id: id, status },
  } = frame;
  if (session === undefined || !isPlain(session) || !isPlain(id))
    return encode({ ...frame, timestamp: now });
  return (
    `{"type":"message.ack","session_id":"${session}","payload":{"request_id":"${id}","status":"${status}"},` +
    `"timestamp":${stampOf(now)}}`
  );
}

/** A frame that was written once, header included, for all who hear it. */
export class WrittenEntry implements Entry {
  readonly type: ServerFrame["type"];
  framed: Framed;
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
    this.framed = framedText(text, byteLength);
    this.numbered = numbered;
    this.message = message;
  }

  get frame(): Uint8Array {
    return payloadOf(this.framed);
  }

  rest(): void {
    this.framed = inOnePiece(this.framed);
  }
}

/** What listeners hear of an entry, whose frame is read where somebody needs it. */
export class HeardEntry implements Heard {
  readonly session: string;
  readonly cursor: Cursor;
  readonly numbered: boolean;
  readonly message: string | undefined;
  private readonly entry: Entry;

  constructor(session: string, cursor: Cursor, entry: Entry) {
    this.session = session;
    this.cursor = cursor;
    this.numbered = entry.numbered;
    this.message = entry.message;
    this.entry = entry;
  }

  get frame(): Uint8Array {
    return this.entry.frame;
  }

  get framed(): Framed | undefined {
    return this.entry.framed;
  }

  get type(): ServerFrame["type"] | undefined {
    return this.entry.type;
  }
}
