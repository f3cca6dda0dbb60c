/* Messages of the D-Bus wire format, version 1: a head of fixed fields, an array of named ones, and a body. */
import { createReader, decode } from "./reader.ts";
import { variant, type Value, type Variant } from "./signature.ts";
import { encode } from "./writer.ts";

export const kinds = ["call", "return", "error", "signal"] as const;
export interface Message {
  readonly kind: (typeof kinds)[number];
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
  readonly body: readonly Value[];
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
const needed: Readonly<Record<Message["kind"], readonly (keyof Message)[]>> = {
  call: ["path", "member"],
  return: ["replySerial"],
  error: ["replySerial", "errorName"],
  signal: ["path", "interface", "member"],
};
/** The specification allows 128 MiB; nothing that is asked for here comes near this. */
const LARGEST = 1024 * 1024;
const FIXED = 16;
const LITTLE = 0x6c;
const BIG = 0x42;
const NO_REPLY = 1;

export function encodeMessage(message: Message): Buffer {
  const { kind, serial, noReply = false, signature, body } = message;
  const bytes = encode(signature, body);
  const named = fields.flatMap(([code, name, type]): Value[] => {
    const value = message[name];
    return value === undefined || value === "" ? [] : [[code, variant(type, value)]];
  });
  const head = encode("yyyyuua(yv)", [
    LITTLE,
    kinds.indexOf(kind) + 1,
    noReply ? NO_REPLY : 0,
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
    while (waiting.length >= FIXED) {
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
  const isLittle = bytes[0] === LITTLE;
  if ((!isLittle && bytes[0] !== BIG) || bytes[3] !== 1)
    throw new Error("this is not a message of D-Bus");
  const number = (at: number): number =>
    isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
  const bodyFrom = Math.ceil((FIXED + number(12)) / 8) * 8;
  const length = bodyFrom + number(4);
  if (length > LARGEST) throw new Error(`a message of ${length} bytes is too large`);
  return { bodyFrom, length };
}

/** Nothing for a kind of later versions, which has to be ignored. */
function read(bytes: Buffer, bodyFrom: number): Message | undefined {
  const isLittle = bytes[0] === LITTLE;
  const reader = createReader(bytes.subarray(0, bodyFrom), isLittle);
  const [, type, flags, , , serial, named] = reader.values("yyyyuua(yv)") as number[] & {
    6: [number, Variant][];
  };
  const kind = kinds[type! - 1];
  if (serial === 0 || type === 0) throw new Error("a message has no number or no kind");
  if (!kind) return undefined;
  const found = new Map(named.map(([code, value]) => [code, value]));
  const head: Partial<Record<keyof Message, Value>> = {};
  for (const [code, name, signature] of fields) {
    const value = found.get(code);
    if (value && value.signature !== signature)
      throw new Error(`the field "${name}" of a message has another type`);
    if (value) head[name] = value.value;
  }
  for (const name of needed[kind])
    if (head[name] === undefined) throw new Error(`a message has no "${name}"`);
  const signature = (head.signature as string | undefined) ?? "";
  const body = decode(signature, bytes.subarray(bodyFrom), isLittle);
  const rest = { kind, serial: serial!, noReply: (flags! & NO_REPLY) !== 0, signature, body };
  return { ...(head as Partial<Message>), ...rest }; // their types were compared
}
