/* Messages of the D-Bus wire format, version 1: a head of fixed fields, an array of named ones, and a body. */
import {
  createReader,
  decodeBody,
  variant,
  encodeBody,
  type BusValue,
  type Variant,
} from "./codec.ts";

export const messageKinds = ["call", "return", "error", "signal"] as const;
export interface Message {
  readonly kind: (typeof messageKinds)[number];
  readonly serial: number;
  /** The caller wants no answer. */
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
/** The specification allows 128 MiB; nothing that is asked for here comes near this. */
const maxMessageBytes = 1024 * 1024;
const fixedHeaderBytes = 16;
const littleEndian = 0x6c;
const bigEndian = 0x42;
const noReplyFlag = 1;

export function encodeMessage(message: Message): Buffer {
  const { kind, serial, noReply = false, signature, body } = message;
  const bytes = encodeBody(signature, body);
  const named = fields.flatMap(([code, name, type]): BusValue[] => {
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
    named,
  ]);
  return Buffer.concat([head, Buffer.alloc(-head.length & 7), bytes]);
}

/** Takes bytes as they come and answers the messages that are complete. Throws at the first that breaks a rule, after
 *  which the connection is of no use. */
export function createFraming(): (chunk: Uint8Array) => Message[] {
  let waiting = Buffer.alloc(0);
  return (chunk) => {
    waiting = Buffer.concat([waiting, chunk]);
    const found: Message[] = [];
    while (waiting.length >= fixedHeaderBytes) {
      const { bodyFrom, length } = measure(waiting);
      if (waiting.length < length) break;
      const message = read(waiting.subarray(0, length), bodyFrom);
      if (message) found.push(message);
      waiting = waiting.subarray(length);
    }
    return found;
  };
}

function measure(bytes: Buffer): { bodyFrom: number; length: number } {
  const isLittle = bytes[0] === littleEndian;
  if ((!isLittle && bytes[0] !== bigEndian) || bytes[3] !== 1)
    throw new Error("this is not a message of D-Bus");
  const number = (at: number): number =>
    isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
  const bodyFrom = Math.ceil((fixedHeaderBytes + number(12)) / 8) * 8;
  const length = bodyFrom + number(4);
  if (length > maxMessageBytes) throw new Error(`a message of ${length} bytes is too large`);
  return { bodyFrom, length };
}

/** Nothing for a kind of later versions, which has to be ignored. */
function read(bytes: Buffer, bodyFrom: number): Message | undefined {
  const isLittle = bytes[0] === littleEndian;
  const reader = createReader(bytes.subarray(0, bodyFrom), isLittle);
  const [, type, flags, , , serial, named] = reader.values("yyyyuua(yv)") as number[] & {
    6: [number, Variant][];
  };
  const kind = messageKinds[type! - 1];
  if (serial === 0 || type === 0) throw new Error("a message has no number or no kind");
  if (!kind) return undefined;
  const found = new Map(named.map(([code, value]) => [code, value]));
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
  const body = decodeBody(signature, bytes.subarray(bodyFrom), isLittle);
  const rest = { kind, serial: serial!, noReply: (flags! & noReplyFlag) !== 0, signature, body };
  return { ...(head as Partial<Message>), ...rest }; // their types were compared
}
