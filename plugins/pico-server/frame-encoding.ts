/* WebSocket messages of a server, header included, written once for all who hear them. */
import { encode, type ServerFrame } from "../../lib/pico-wire/index.ts";
import type { Cursor, LogEntry, SequencedEntry } from "./session/session-log.ts";

/** A whole message. A short one is text of which each character is a byte (Latin-1): Node copies such text in one step
 *  to where the system takes it from, while each buffer has to be made, filled and swept up again. */
export type EncodedFrame = string | Buffer;

/** Bytes of the longest that is text: what Node writes without memory of its own for it. */
const maxLatin1Bytes = 16 * 1024;
const textOpcode = 0x81;
// the last fragment of a text message
/** A ping that says nothing: the same bytes for everybody. */
export const pingFrame: EncodedFrame = "\x89\0";

const pong = 0x8a;
/** `payload`: at most 125 bytes. */
export const pongFrame = (payload: Buffer): EncodedFrame =>
  String.fromCharCode(pong, payload.byteLength) + payload.toString("latin1");

/** Where the payload begins. */
const headerLength = (encodedFrame: EncodedFrame): number => {
  const size = typeof encodedFrame === "string" ? encodedFrame.charCodeAt(1) : encodedFrame[1]!;
  return size < 126 ? 2 : size === 126 ? 4 : 10;
};

const shortHeader = (size: number): string =>
  size < 126
    ? String.fromCharCode(textOpcode, size)
    : String.fromCharCode(textOpcode, 126, size >> 8, size & 0xff);

/** Whose last `size` bytes, the payload, are to be written. */
function longFrame(size: number): Buffer {
  const lead = size < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(lead + size);
  frame[0] = textOpcode;
  frame[1] = lead === 4 ? 126 : 127;
  if (lead === 4) frame.writeUInt16BE(size, 2);
  else frame.writeBigUInt64BE(BigInt(size), 2);
  return frame;
}

/** `size`: of the text as UTF-8. */
export function frameText(text: string, size = Buffer.byteLength(text)): EncodedFrame {
  const isAscii = text.length === size;
  if (size <= maxLatin1Bytes)
    return shortHeader(size) + (isAscii ? text : Buffer.from(text).toString("latin1"));
  const frame = longFrame(size);
  frame.write(text, frame.byteLength - size, isAscii ? "latin1" : "utf8");
  return frame;
}

export function frameBytes(payload: Uint8Array): EncodedFrame {
  const size = payload.byteLength;
  if (size <= maxLatin1Bytes) return shortHeader(size) + Buffer.from(payload).toString("latin1");
  const frame = longFrame(size);
  frame.set(payload, frame.byteLength - size);
  return frame;
}

/** Text that was put together keeps all its parts until it is read as a whole, which takes twice the room. */
export const flattenFrame = (encodedFrame: EncodedFrame): EncodedFrame =>
  typeof encodedFrame === "string"
    ? Buffer.from(encodedFrame, "latin1").toString("latin1")
    : encodedFrame;

export const payloadOf = (encodedFrame: EncodedFrame): Buffer =>
  typeof encodedFrame === "string"
    ? Buffer.from(encodedFrame.slice(headerLength(encodedFrame)), "latin1")
    : encodedFrame.subarray(headerLength(encodedFrame));

/** The same message, its payload without the last byte and with more ASCII behind it. */
export function appendToObject(encodedFrame: EncodedFrame, tail: string): EncodedFrame {
  const lead = headerLength(encodedFrame);
  const size = encodedFrame.length - lead - 1 + tail.length;
  if (typeof encodedFrame === "string") {
    const text = encodedFrame.slice(lead, -1) + tail;
    return size <= maxLatin1Bytes
      ? shortHeader(size) + text
      : frameBytes(Buffer.from(text, "latin1"));
  }
  const frame = longFrame(size);
  encodedFrame.copy(frame, frame.length - size, lead, encodedFrame.length - 1);
  frame.write(tail, frame.length - tail.length, "latin1");
  return frame;
}

const closingBrace = "}".charCodeAt(0);
const endsWithBrace = (encodedFrame: EncodedFrame): boolean =>
  typeof encodedFrame === "string"
    ? encodedFrame.endsWith("}")
    : encodedFrame[encodedFrame.length - 1] === closingBrace;

/** The frame with its place in the stream, as clients of the extension read it: two parts that follow each other. */
export function splitNumberedFrame(
  frame: Uint8Array,
  cursor: Cursor,
): readonly [head: Uint8Array, tail: string] {
  const last = frame.length - 1;
  const end = frame[last] === closingBrace ? last : frame.lastIndexOf(closingBrace);
  return [frame.subarray(0, end), positionSuffix(cursor)];
}

/** ASCII, whatever a log calls its epochs. */
const positionSuffix = ({ epoch, seq }: Cursor): string =>
  `,"epoch":${quoteEpoch(epoch)},"seq":${seq}}`;

function quoteEpoch(epoch: string): string {
  return /^[\da-z]*$/i.test(epoch)
    ? `"${epoch}"`
    : JSON.stringify(epoch).replace(/[^ -~]/g, escapeUnit);
}
const escapeUnit = (unit: string): string =>
  `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** The same as a whole WebSocket message. */
export function frameWithPosition({ framed, frame, cursor }: SequencedEntry): EncodedFrame {
  if (framed !== undefined && endsWithBrace(framed))
    return appendToObject(framed, positionSuffix(cursor));
  const [head, tail] = splitNumberedFrame(frame, cursor);
  return frameBytes(Buffer.concat([head, Buffer.from(tail)]));
}

/** All who hear an entry hear it one after the other: what was made for the first serves the rest. */
export function memoizeLast<T>(make: (entry: SequencedEntry) => T): (entry: SequencedEntry) => T {
  let last: { readonly entry: SequencedEntry; readonly made: T } | undefined;
  return (entry) => {
    if (last?.entry !== entry) last = { entry, made: make(entry) };
    return last.made;
  };
}

const frameTypes = [
  "message.create",
  "message.update",
  "message.delete",
  "typing.start",
  "typing.stop",
  "error",
] as const;
const frameTypePrefixes = frameTypes.map((type) => ({
  type,
  bytes: Buffer.from(`{"type":"${type}"`),
}));

/** From the end, where they differ. */
function startsWith(frame: Uint8Array, start: Uint8Array): boolean {
  for (let at = start.length - 1; at >= 0; at--) if (frame[at] !== start[at]) return false;
  return true;
}

/** The type stands first, as `port` writes frames; another form of the log may have written them anew. */
const readFrameType = memoizeLast(({ frame }): ServerFrame["type"] => {
  for (const { type, bytes } of frameTypePrefixes) if (startsWith(frame, bytes)) return type;
  return (JSON.parse(Buffer.from(frame).toString()) as ServerFrame).type;
});
export const frameTypeOf = (entry: SequencedEntry): ServerFrame["type"] =>
  entry.type ?? readFrameType(entry);

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
