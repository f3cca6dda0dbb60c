// Encodes and decodes D-Bus messages, version 1: fixed header fields, optional header fields, body.
import {
  createReader,
  decodeBody,
  variant,
  encodeBody,
  type BusValue,
  type Variant,
} from "./codec.ts";

const messageKinds = ["call", "return", "error", "signal"] as const;
export interface Message {
  readonly kind: (typeof messageKinds)[number];
  readonly serial: number;
  /** The caller expects no reply. */
  readonly noReply?: boolean;
  readonly path?: string;
  readonly interface?: string;
  readonly member?: string;
  readonly errorName?: string;
  readonly replySerial?: number;
  readonly destination?: string;
  readonly sender?: string;
  readonly signature: string;
  readonly body: readonly BusValue[];
}

const fields = [
  [1, "path", "o"],
  [2, "interface", "s"],
  [3, "member", "s"],
  [4, "errorName", "s"],
  [5, "replySerial", "u"],
  [6, "destination", "s"],
  [7, "sender", "s"],
  [8, "signature", "g"],
] as const;
const requiredFields: Readonly<Record<Message["kind"], readonly (keyof Message)[]>> = {
  call: ["path", "member"],
  return: ["replySerial"],
  error: ["replySerial", "errorName"],
  signal: ["path", "interface", "member"],
};
/** The specification allows 128 MiB; the messages of a tray are far smaller. */
const maxMessageBytes = 1024 * 1024;
const fixedHeaderBytes = 16;
const littleEndian = 0x6c;
const bigEndian = 0x42;
const noReplyFlag = 1;

export function encodeMessage(message: Message): Buffer {
  const { kind, serial, noReply = false, signature, body } = message;
  const bytes = encodeBody(signature, body);
  const headerFields = fields.flatMap(([code, name, type]): BusValue[] => {
    const value = message[name];
    return value === undefined || value === "" ? [] : [[code, variant(type, value)]];
  });
  const head = encodeBody("yyyyuua(yv)", [
    littleEndian,
    messageKinds.indexOf(kind) + 1,
    noReply ? noReplyFlag : 0,
    1,
    bytes.length,
    serial,
    headerFields,
  ]);
  return Buffer.concat([head, Buffer.alloc(-head.length & 7), bytes]);
}

/**
 * Creates a function that receives chunks of bytes and returns the messages they complete. It
 * throws at the first malformed message; the connection cannot be used after that.
 */
export function createFraming(): (chunk: Uint8Array) => Message[] {
  let pending = Buffer.alloc(0);
  return (chunk) => {
    pending = Buffer.concat([pending, chunk]);
    const found: Message[] = [];
    while (pending.length >= fixedHeaderBytes) {
      const { bodyStart, length } = measure(pending);
      if (pending.length < length) break;
      const message = read(pending.subarray(0, length), bodyStart);
      if (message) found.push(message);
      pending = pending.subarray(length);
    }
    return found;
  };
}

function measure(bytes: Buffer): { bodyStart: number; length: number } {
  const isLittle = bytes[0] === littleEndian;
  if ((!isLittle && bytes[0] !== bigEndian) || bytes[3] !== 1)
    throw new Error("this is not a D-Bus message");
  const readNumber = (offset: number): number =>
    isLittle ? bytes.readUInt32LE(offset) : bytes.readUInt32BE(offset);
  const bodyStart = Math.ceil((fixedHeaderBytes + readNumber(12)) / 8) * 8;
  const length = bodyStart + readNumber(4);
  if (length > maxMessageBytes) throw new Error(`a message of ${length} bytes is too large`);
  return { bodyStart, length };
}

/** @returns Undefined for an unknown kind, which the specification requires to be ignored. */
function read(bytes: Buffer, bodyStart: number): Message | undefined {
  const isLittle = bytes[0] === littleEndian;
  const reader = createReader(bytes.subarray(0, bodyStart), isLittle);
  const [, type, flags, , , serial, headerFields] = reader.values("yyyyuua(yv)") as number[] & {
    6: [number, Variant][];
  };
  const kind = messageKinds[type! - 1];
  if (serial === 0 || type === 0) throw new Error("a message has serial number 0 or kind 0");
  if (!kind) return undefined;
  const found = new Map(headerFields.map(([code, value]) => [code, value]));
  const head: Partial<Record<keyof Message, BusValue>> = {};
  for (const [code, name, signature] of fields) {
    const value = found.get(code);
    if (value && value.signature !== signature)
      throw new Error(`the field "${name}" of a message has another type`);
    if (value) head[name] = value.value;
  }
  for (const name of requiredFields[kind])
    if (head[name] === undefined) throw new Error(`a message has no "${name}"`);
  const signature = (head.signature as string | undefined) ?? "";
  const body = decodeBody(signature, bytes.subarray(bodyStart), isLittle);
  const rest = { kind, serial: serial!, noReply: (flags! & noReplyFlag) !== 0, signature, body };
  return { ...(head as Partial<Message>), ...rest }; // the loop above compared their types
}
