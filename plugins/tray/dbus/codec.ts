/* Signatures of the D-Bus wire format (specification 0.43, "Type System"): `a{sv}` is a dictionary of variants. */

export interface SignatureType {
  /** One of `ybnqiuxtdsogv`, `a`, `(` or `{`. */
  readonly code: string;
  /** Of an array its item, of a structure its fields, of an entry key and value. */
  readonly parts: readonly SignatureType[];
}

/** A value whose type travels with it. */
export interface Variant {
  readonly signature: string;
  readonly value: BusValue;
}
/** `ynqiu` and `d` are numbers, `xt` bigints, `ay` bytes, `a{…}` a Map, structures and other arrays arrays. */
export type BusValue =
  | number
  | bigint
  | boolean
  | string
  | Uint8Array
  | Variant
  | readonly BusValue[]
  | ReadonlyMap<BusValue, BusValue>;

export const variant = (signature: string, value: BusValue): Variant => ({ signature, value });

/** Of the specification. */
const maxSignatureLength = 255;
const maxSignatureDepth = 32;

/** The complete types of a signature. Throws when it is not one. */
export function parseSignature(signature: string): readonly SignatureType[] {
  if (signature.length > maxSignatureLength) throw new Error("a signature is too long");
  let at = 0;
  const refuse = (): never => {
    throw new Error(`${JSON.stringify(signature)} is not a signature`);
  };

  function next(arrays: number, structures: number): SignatureType {
    const code = signature[at++] ?? refuse();
    if ("ybnqiuxtdsogv".includes(code)) return { code, parts: [] };
    if (code === "a" && arrays < maxSignatureDepth) {
      const isDictionary = signature[at] === "{";
      return {
        code,
        parts: [isDictionary ? entry(arrays + 1, structures + 1) : next(arrays + 1, structures)],
      };
    }
    if (code !== "(" || structures >= maxSignatureDepth) return refuse();
    const parts: SignatureType[] = [];
    while (signature[at] !== ")") parts.push(next(arrays, structures + 1));
    at += 1;
    return parts.length > 0 ? { code, parts } : refuse();
  }

  function entry(arrays: number, structures: number): SignatureType {
    at += 1;
    if (structures > maxSignatureDepth || !"ybnqiuxtdsog".includes(signature[at] ?? "v")) refuse();
    const parts = [next(arrays, structures), next(arrays, structures)];
    return signature[at++] === "}" ? { code: "{", parts } : refuse();
  }

  const types: SignatureType[] = [];
  while (at < signature.length) types.push(next(0, 0));
  return types;
}

/** Bytes a value of this type is aligned to. */
export function alignmentOf(code: string): 1 | 2 | 4 | 8 {
  if ("xtd({".includes(code)) return 8;
  if ("biusoa".includes(code)) return 4;
  return "nq".includes(code) ? 2 : 1;
}

const objectPathPattern = /^\/(?:[A-Za-z0-9_]+(?:\/[A-Za-z0-9_]+)*)?$/;
export const isObjectPath = (text: string): boolean => objectPathPattern.test(text);

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** Arrays and structures and variants inside one another. */
const maxContainerDepth = 64;

/** The values of a message's bytes. Throws when they break a rule of the wire format: nothing of them is used then. */
export function createReader(bytes: Uint8Array, isLittle: boolean, from = 0) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = from;

  function take(size: number, alignment: number): number {
    const start = Math.ceil(at / alignment) * alignment;
    if (start + size > bytes.length) throw new Error("a value goes beyond its message");
    for (; at < start; at += 1) if (bytes[at] !== 0) throw new Error("a gap is not zero");
    at = start + size;
    return start;
  }

  function text(length: number): string {
    const start = take(length + 1, 1);
    const raw = bytes.subarray(start, start + length);
    if (bytes[start + length] !== 0 || raw.includes(0))
      throw new Error("a text does not end where it says");
    return utf8.decode(raw);
  }

  function flag(): boolean {
    const number = view.getUint32(take(4, 4), isLittle);
    if (number > 1) throw new Error("a boolean is neither 0 nor 1");
    return number === 1;
  }

  function objectPath(): string {
    const path = text(view.getUint32(take(4, 4), isLittle));
    if (!isObjectPath(path)) throw new Error("an object path is not one");
    return path;
  }

  function signature(): string {
    const found = text(view.getUint8(take(1, 1)));
    parseSignature(found);
    return found;
  }

  function array(item: SignatureType, depth: number): BusValue {
    const length = view.getUint32(take(4, 4), isLittle);
    const start = take(0, alignmentOf(item.code));
    const end = start + length;
    if (end > bytes.length) throw new Error("an array goes beyond its message");
    if (item.code === "y") return new Uint8Array(bytes.subarray(take(length, 1), end));
    const values: BusValue[] = [];
    while (at < end) values.push(value(item, depth));
    if (at !== end) throw new Error("an array does not end where it says");
    return item.code === "{" ? new Map(values as [BusValue, BusValue][]) : values;
  }

  function value({ code, parts }: SignatureType, depth: number): BusValue {
    if (depth > maxContainerDepth) throw new Error("values are nested too deep");
    switch (code) {
      case "y":
        return view.getUint8(take(1, 1));
      case "b":
        return flag();
      case "n":
        return view.getInt16(take(2, 2), isLittle);
      case "q":
        return view.getUint16(take(2, 2), isLittle);
      case "i":
        return view.getInt32(take(4, 4), isLittle);
      case "u":
        return view.getUint32(take(4, 4), isLittle);
      case "x":
        return view.getBigInt64(take(8, 8), isLittle);
      case "t":
        return view.getBigUint64(take(8, 8), isLittle);
      case "d":
        return view.getFloat64(take(8, 8), isLittle);
      case "s":
        return text(view.getUint32(take(4, 4), isLittle));
      case "o":
        return objectPath();
      case "g":
        return signature();
      case "a":
        return array(parts[0]!, depth + 1);
      case "v": {
        const inside = signature();
        const [type, ...more] = parseSignature(inside);
        if (!type || more.length > 0) throw new Error("a variant holds not one value");
        return { signature: inside, value: value(type, depth + 1) };
      }
      default: // a structure or an entry
        take(0, 8);
        return parts.map((part) => value(part, depth + 1));
    }
  }

  return {
    values: (types: string): BusValue[] => parseSignature(types).map((type) => value(type, 0)),
    at: () => at,
  };
}

/** The values of a whole body; what is left over is an error too. */
export function decodeBody(signature: string, body: Uint8Array, isLittle: boolean): BusValue[] {
  const reader = createReader(body, isLittle);
  const values = reader.values(signature);
  if (reader.at() !== body.length) throw new Error("a body is longer than its values");
  return values;
}

/** The values as the body of a message, least significant byte first. A value that does not fit its type throws. */
export function encodeBody(signature: string, values: readonly BusValue[]): Buffer {
  const types = parseSignature(signature);
  if (types.length !== values.length)
    throw new Error(`"${signature}" takes ${types.length} values`);
  const writer = createWriter();
  types.forEach((type, at) => writer.value(type, values[at]!));
  return writer.bytes();
}

function createWriter() {
  let bytes = Buffer.alloc(1024);
  let length = 0;

  /** Room for that many bytes, aligned; answers where they begin. The bytes between are zero. */
  function take(size: number, alignment: number): number {
    const from = Math.ceil(length / alignment) * alignment;
    if (from + size > bytes.length) {
      const larger = Buffer.alloc(Math.max(bytes.length * 2, from + size));
      bytes.copy(larger, 0, 0, length);
      bytes = larger;
    }
    length = from + size;
    return from;
  }

  /** `bytes` may be another buffer once there is room: it is looked at after that. */
  const put = (size: number, write: (at: number) => unknown): void => void write(take(size, size));

  function text(value: string, lengthBytes: 1 | 4): void {
    const utf8 = Buffer.from(value.toWellFormed(), "utf8");
    if (utf8.includes(0)) throw new Error("a text holds a zero byte");
    put(lengthBytes, (at) => bytes.writeUIntLE(utf8.length, at, lengthBytes));
    const at = take(utf8.length + 1, 1);
    utf8.copy(bytes, at);
  }

  function array(item: SignatureType, values: BusValue): void {
    const at = take(4, 4);
    const start = take(0, alignmentOf(item.code));
    if (values instanceof Uint8Array) {
      const from = take(values.length, 1);
      bytes.set(values, from);
    } else if (values instanceof Map) {
      for (const pair of values as ReadonlyMap<BusValue, BusValue>) value(item, pair);
    } else for (const each of values as readonly BusValue[]) value(item, each);
    bytes.writeUInt32LE(length - start, at);
  }

  function value({ code, parts }: SignatureType, given: BusValue): void {
    switch (code) {
      case "y":
        return put(1, (at) => bytes.writeUInt8(given as number, at));
      case "b":
        return put(4, (at) => bytes.writeUInt32LE(given === true ? 1 : 0, at));
      case "n":
        return put(2, (at) => bytes.writeInt16LE(given as number, at));
      case "q":
        return put(2, (at) => bytes.writeUInt16LE(given as number, at));
      case "i":
        return put(4, (at) => bytes.writeInt32LE(given as number, at));
      case "u":
        return put(4, (at) => bytes.writeUInt32LE(given as number, at));
      case "x":
        return put(8, (at) => bytes.writeBigInt64LE(given as bigint, at));
      case "t":
        return put(8, (at) => bytes.writeBigUInt64LE(given as bigint, at));
      case "d":
        return put(8, (at) => bytes.writeDoubleLE(given as number, at));
      case "s":
      case "o":
        return text(given as string, 4);
      case "g":
        return text(given as string, 1);
      case "a":
        return array(parts[0]!, given);
      case "v": {
        const { signature, value: inside } = given as Variant;
        const [type, ...more] = parseSignature(signature);
        if (!type || more.length > 0) throw new Error("a variant holds one value");
        text(signature, 1);
        return value(type, inside);
      }
      default: // a structure or an entry
        take(0, 8);
        parts.forEach((part, at) => value(part, (given as readonly BusValue[])[at]!));
    }
  }

  return { value, bytes: () => bytes.subarray(0, length) };
}
