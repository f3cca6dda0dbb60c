/**
 * Encodes server frames once, WebSocket header included, and shares the bytes among all
 * subscribers. Contains the fast paths of the message path.
 */
import {
  encode,
  type AppendFrame,
  type ServerFrame,
  type UserTurnFrame,
} from "../../lib/pico-wire/index.ts";
import type {
  Cursor,
  EncodedFrame,
  LogEntry,
  QuestionMark,
  SequencedEntry,
  TextGrowth,
} from "../conversations/index.ts";

export type { EncodedFrame } from "../conversations/index.ts";

/**
 * Longest message, in bytes, that is encoded as a string of Latin-1: Node copies it to the socket
 * in one step, while each buffer has to be allocated, filled and collected.
 */
const maxLatin1Bytes = 16 * 1024;
const textOpcode = 0x81;
/** A ping without payload. */
export const pingFrame: EncodedFrame = "\x89\0";

const pong = 0x8a;
/** @param payload - At most 125 bytes. */
export const pongFrame = (payload: Buffer): EncodedFrame =>
  String.fromCharCode(pong, payload.byteLength) + payload.toString("latin1");

/** @returns The offset of the payload. */
const headerLength = (encodedFrame: EncodedFrame): number => {
  const size = typeof encodedFrame === "string" ? encodedFrame.charCodeAt(1) : encodedFrame[1]!;
  return size < 126 ? 2 : size === 126 ? 4 : 10;
};

const shortHeader = (size: number): string =>
  size < 126
    ? String.fromCharCode(textOpcode, size)
    : String.fromCharCode(textOpcode, 126, size >> 8, size & 0xff);

/** Allocates a frame with its header. The caller writes the payload to the last `size` bytes. */
function longFrame(size: number): Buffer {
  const headerBytes = size < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(headerBytes + size);
  frame[0] = textOpcode;
  frame[1] = headerBytes === 4 ? 126 : 127;
  if (headerBytes === 4) frame.writeUInt16BE(size, 2);
  else frame.writeBigUInt64BE(BigInt(size), 2);
  return frame;
}

export function frameText(text: string): EncodedFrame {
  const size = Buffer.byteLength(text);
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

const payloadOf = (encodedFrame: EncodedFrame): Buffer =>
  typeof encodedFrame === "string"
    ? Buffer.from(encodedFrame.slice(headerLength(encodedFrame)), "latin1")
    : encodedFrame.subarray(headerLength(encodedFrame));

/** Returns a message with the last byte of the payload replaced by ASCII text. */
function appendToObject(encodedFrame: EncodedFrame, tail: string): EncodedFrame {
  const headerBytes = headerLength(encodedFrame);
  const size = encodedFrame.length - headerBytes - 1 + tail.length;
  if (typeof encodedFrame === "string") {
    const text = encodedFrame.slice(headerBytes, -1) + tail;
    return size <= maxLatin1Bytes
      ? shortHeader(size) + text
      : frameBytes(Buffer.from(text, "latin1"));
  }
  const frame = longFrame(size);
  encodedFrame.copy(frame, frame.length - size, headerBytes, encodedFrame.length - 1);
  frame.write(tail, frame.length - tail.length, "latin1");
  return frame;
}

const closingBrace = "}".charCodeAt(0);
const endsWithBrace = (encodedFrame: EncodedFrame): boolean =>
  typeof encodedFrame === "string"
    ? encodedFrame.endsWith("}")
    : encodedFrame[encodedFrame.length - 1] === closingBrace;

/**
 * Returns a frame with its position in the stream, for clients of the extension, as two consecutive
 * parts.
 */
export function splitNumberedFrame(
  frame: Uint8Array,
  cursor: Cursor,
): readonly [head: Uint8Array, tail: string] {
  const last = frame.length - 1;
  const end = frame[last] === closingBrace ? last : frame.lastIndexOf(closingBrace);
  return [frame.subarray(0, end), positionSuffix(cursor)];
}

/** Always ASCII, whatever epochs a session log uses. */
const positionSuffix = ({ epoch, seq }: Cursor): string =>
  `,"epoch":${quoteEpoch(epoch)},"seq":${seq}}`;

function quoteEpoch(epoch: string): string {
  return /^[\da-z]*$/i.test(epoch)
    ? `"${epoch}"`
    : JSON.stringify(epoch).replace(/[^ -~]/g, escapeUnit);
}
const escapeUnit = (unit: string): string =>
  `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Returns a frame with its position as a complete WebSocket message. */
export function frameWithPosition({ framed, frame, cursor }: SequencedEntry): EncodedFrame {
  if (framed !== undefined && endsWithBrace(framed))
    return appendToObject(framed, positionSuffix(cursor));
  const [head, tail] = splitNumberedFrame(frame, cursor);
  return frameBytes(Buffer.concat([head, Buffer.from(tail)]));
}

/**
 * Subscribers receive an entry one after the other, so the result for the first one serves the
 * others.
 */
export function memoizeLast<T>(make: (entry: SequencedEntry) => T): (entry: SequencedEntry) => T {
  let last: { readonly entry: SequencedEntry; readonly result: T } | undefined;
  return (entry) => {
    if (last?.entry !== entry) last = { entry, result: make(entry) };
    return last.result;
  };
}

const frameTypes = [
  "message.create",
  "message.update",
  "message.delete",
  "typing.start",
  "typing.stop",
  "error",
  "message.user",
  "answer.end",
] as const;
const frameTypePrefixes = frameTypes.map((type) => ({
  type,
  bytes: Buffer.from(`{"type":"${type}"`),
}));

/** Compares from the end, where the prefixes differ. */
function startsWith(frame: Uint8Array, start: Uint8Array): boolean {
  for (let index = start.length - 1; index >= 0; index--)
    if (frame[index] !== start[index]) return false;
  return true;
}

/**
 * The channel adapter writes the type first. Another session log may have encoded the frame again.
 */
const readFrameType = memoizeLast(({ frame }): ServerFrame["type"] => {
  for (const { type, bytes } of frameTypePrefixes) if (startsWith(frame, bytes)) return type;
  return (JSON.parse(Buffer.from(frame).toString()) as ServerFrame).type;
});
export const frameTypeOf = (entry: SequencedEntry): ServerFrame["type"] =>
  entry.type ?? readFrameType(entry);

const noticeMark = Buffer.from('"kind":"notice"');

/** The adapter marks its entries. Another frame may have the mark as a part of its text. */
const readNotice = memoizeLast(({ frame }): boolean => {
  if (Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength).indexOf(noticeMark) < 0)
    return false;
  const { payload } = JSON.parse(Buffer.from(frame).toString()) as {
    payload?: { readonly kind?: unknown };
  };
  return payload?.kind === "notice";
});

/** True if only clients that know notices receive the entry. */
export const isNotice = (entry: SequencedEntry): boolean => entry.notice ?? readNotice(entry);

/**
 * True for printable ASCII that needs no JSON escape: the text is its own JSON, with one byte per
 * character.
 */
const isPlain = (text: string): boolean => !/[^ !#-[\]-~]/.test(text);

/** A message with text only. */
export interface TextMessage {
  readonly type: "message.create" | "message.update";
  readonly session: string;
  readonly id: string;
  readonly content: string;
  /** Id of the message that this one replies to. */
  readonly request: string | undefined;
  readonly final: boolean | undefined;
}

/** Encodes the message as `encode` does. Undefined if a part of it needs JSON escapes. */
export function encodeTextMessage(
  { type, session, id, content, request, final }: TextMessage,
  now: number,
): string | undefined {
  if (!isPlain(content) || !isPlain(id) || !isPlain(session)) return undefined;
  if (request !== undefined && !isPlain(request)) return undefined;
  const requestPart = request === undefined ? "" : `,"request_id":"${request}"`;
  const finalPart = final ? ',"final":true' : "";
  return (
    `{"type":"${type}","payload":{"message_id":"${id}","content":"${content}"` +
    requestPart +
    finalPart +
    `},"session_id":"${session}","timestamp":${now}}`
  );
}

/** Encodes the text that an entry adds. An entry with a number adds its position. */
export function encodeGrowth(
  { session, cursor, message = "", numbered }: SequencedEntry,
  { length, added: content = "", time: timestamp, final }: TextGrowth,
): string {
  const at = length - content.length;
  const frame: AppendFrame = {
    type: "message.append",
    payload: { message_id: message, at, content, ...(final && { final }) },
    session_id: session,
    timestamp,
    ...(numbered && cursor),
  };
  return encode(frame);
}

/**
 * Encodes a frame with the number of the turn, for clients of the extension that do not know turns:
 * it removes a message that they do not have.
 */
export function encodePlaceholder(entry: SequencedEntry): EncodedFrame {
  return frameText(encode({ ...placeholderOf(entry), ...entry.cursor }));
}

/** Encodes the same frame for an event, whose id is the number. */
export function placeholderText(entry: SequencedEntry): string {
  return encode(placeholderOf(entry));
}

function placeholderOf({ frame, session }: SequencedEntry) {
  const turn = JSON.parse(Buffer.from(frame).toString()) as UserTurnFrame;
  const payload = { message_id: turn.payload.message_id };
  return { type: "message.delete", payload, session_id: session } as const;
}

/** A frame that is encoded once, header included, for all subscribers. */
export class EncodedEntry implements LogEntry {
  readonly type: ServerFrame["type"];
  readonly framed: EncodedFrame;
  readonly numbered: boolean;
  readonly message: string | undefined;
  readonly final: boolean;
  growth: TextGrowth | undefined = undefined;
  answers: string | undefined = undefined;
  question: QuestionMark | undefined = undefined;
  notice = false;

  constructor(
    type: ServerFrame["type"],
    text: string,
    numbered: boolean,
    message: string | undefined,
    final = false,
  ) {
    this.type = type;
    this.framed = frameText(text);
    this.numbered = numbered;
    this.message = message;
    this.final = final;
  }

  get frame(): Uint8Array {
    return payloadOf(this.framed);
  }

  /** @returns The same frame once more, without a number. */
  repeat(growth: TextGrowth): EncodedEntry {
    const copy = Object.create(EncodedEntry.prototype) as EncodedEntry;
    return Object.assign(copy, this, { numbered: false, growth });
  }
}
