// Encodes and decodes values of the D-Bus wire format (specification 0.43, "Type System").
// Signatures name types: `a{sv}` is a dictionary of variants.

export interface SignatureType {
  /** One of `ybnqiuxtdsogv`, `a`, `(` or `{`. */
  readonly code: string;
  /** The item of an array, the fields of a structure, or key and value of an entry. */
  readonly parts: readonly SignatureType[];
}

/** A value together with its type. */
export interface Variant {
  readonly signature: string;
  readonly value: BusValue;
}
/**
 * `ynqiu` and `d` are numbers, `xt` bigints, `ay` bytes, `a{…}` a Map. Structures and other arrays
 * are arrays.
 */
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

/** Limits of the specification. */
const maxSignatureLength = 255;
const maxSignatureDepth = 32;

/** @returns The complete types of a signature. Throws if the signature is malformed. */
export function parseSignature(signature: string): readonly SignatureType[] {
  if (signature.length > maxSignatureLength) throw new Error("a signature is too long");
  let position = 0;
  const fail = (): never => {
    throw new Error(`${JSON.stringify(signature)} is not a signature`);
  };

  function next(arrays: number, structures: number): SignatureType {
    const code = signature[position++] ?? fail();
    if ("ybnqiuxtdsogv".includes(code)) return { code, parts: [] };
    if (code === "a" && arrays < maxSignatureDepth) {
      const isDictionary = signature[position] === "{";
      return {
        code,
        parts: [isDictionary ? entry(arrays + 1, structures + 1) : next(arrays + 1, structures)],
      };
    }
    if (code !== "(" || structures >= maxSignatureDepth) return fail();
    const parts: SignatureType[] = [];
    while (signature[position] !== ")") parts.push(next(arrays, structures + 1));
    position += 1;
    return parts.length > 0 ? { code, parts } : fail();
  }

  function entry(arrays: number, structures: number): SignatureType {
    position += 1;
    if (structures > maxSignatureDepth || !"ybnqiuxtdsog".includes(signature[position] ?? "v"))
      fail();
    const parts = [next(arrays, structures), next(arrays, structures)];
    return signature[position++] === "}" ? { code: "{", parts } : fail();
  }

  const types: SignatureType[] = [];
  while (position < signature.length) types.push(next(0, 0));
  return types;
}

/** @returns The type in a variant. Throws unless the signature is one complete type. */
function parseVariantType(signature: string): SignatureType {
  const [type, ...more] = parseSignature(signature);
  if (!type || more.length > 0) throw new Error("a variant does not hold exactly one value");
  return type;
}

/** @returns The alignment of a type in bytes. */
function alignmentOf(code: string): 1 | 2 | 4 | 8 {
  if ("xtd({".includes(code)) return 8;
  if ("biusoa".includes(code)) return 4;
  return "nq".includes(code) ? 2 : 1;
}

const objectPathPattern = /^\/(?:[A-Za-z0-9_]+(?:\/[A-Za-z0-9_]+)*)?$/;

function requireObjectPath(text: string): string {
  if (!objectPathPattern.test(text)) throw new Error("an object path is malformed");
  return text;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** Nesting of arrays, structures and variants. */
const maxContainerDepth = 64;

/** Numeric types: size in bytes, which is also the alignment, and the methods of the buffers. */
const numberTypes = {
  y: { size: 1, get: "getUint8", put: "writeUInt8" },
  n: { size: 2, get: "getInt16", put: "writeInt16LE" },
  q: { size: 2, get: "getUint16", put: "writeUInt16LE" },
  i: { size: 4, get: "getInt32", put: "writeInt32LE" },
  u: { size: 4, get: "getUint32", put: "writeUInt32LE" },
  x: { size: 8, get: "getBigInt64", put: "writeBigInt64LE" },
  t: { size: 8, get: "getBigUint64", put: "writeBigUInt64LE" },
  d: { size: 8, get: "getFloat64", put: "writeDoubleLE" },
} as const;
type NumberType = (typeof numberTypes)[keyof typeof numberTypes];

const numberTypeOf = (code: string): NumberType | undefined =>
  (numberTypes as Readonly<Record<string, NumberType>>)[code];

/** Creates a reader of the values in `bytes`. It throws if they break a rule of the wire format. */
export function createReader(bytes: Uint8Array, isLittle: boolean, offset = 0) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let position = offset;

  function take(size: number, alignment: number): number {
    const start = Math.ceil(position / alignment) * alignment;
    if (start + size > bytes.length) throw new Error("a value extends beyond its message");
    for (; position < start; position += 1)
      if (bytes[position] !== 0) throw new Error("the padding is not zero");
    position = start + size;
    return start;
  }

  function text(length: number): string {
    const start = take(length + 1, 1);
    const raw = bytes.subarray(start, start + length);
    if (bytes[start + length] !== 0 || raw.includes(0))
      throw new Error("a string does not have its stated length");
    return utf8.decode(raw);
  }

  function flag(): boolean {
    const number = view.getUint32(take(4, 4), isLittle);
    if (number > 1) throw new Error("a boolean is neither 0 nor 1");
    return number === 1;
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
    if (end > bytes.length) throw new Error("an array extends beyond its message");
    if (item.code === "y") return new Uint8Array(bytes.subarray(take(length, 1), end));
    const values: BusValue[] = [];
    while (position < end) values.push(value(item, depth));
    if (position !== end) throw new Error("an array does not have its stated length");
    return item.code === "{" ? new Map(values as [BusValue, BusValue][]) : values;
  }

  function value({ code, parts }: SignatureType, depth: number): BusValue {
    if (depth > maxContainerDepth) throw new Error("values are nested too deeply");
    const number = numberTypeOf(code);
    if (number) return view[number.get](take(number.size, number.size), isLittle);
    switch (code) {
      case "b":
        return flag();
      case "s":
        return text(view.getUint32(take(4, 4), isLittle));
      case "o":
        return requireObjectPath(text(view.getUint32(take(4, 4), isLittle)));
      case "g":
        return signature();
      case "a":
        return array(parts[0]!, depth + 1);
      case "v": {
        const inside = signature();
        return { signature: inside, value: value(parseVariantType(inside), depth + 1) };
      }
      default: // a structure or an entry
        take(0, 8);
        return parts.map((part) => value(part, depth + 1));
    }
  }

  return {
    values: (types: string): BusValue[] => parseSignature(types).map((type) => value(type, 0)),
    position: () => position,
  };
}

/** @returns The values of a whole body. Throws if bytes are left over. */
export function decodeBody(signature: string, body: Uint8Array, isLittle: boolean): BusValue[] {
  const reader = createReader(body, isLittle);
  const values = reader.values(signature);
  if (reader.position() !== body.length) throw new Error("a body is longer than its values");
  return values;
}

/** Encodes the body of a message in little endian. Throws if a value does not fit its type. */
export function encodeBody(signature: string, values: readonly BusValue[]): Buffer {
  const types = parseSignature(signature);
  if (types.length !== values.length)
    throw new Error(`"${signature}" needs ${types.length} values`);
  const writer = createWriter();
  types.forEach((type, index) => writer.value(type, values[index]!));
  return writer.bytes();
}

function createWriter() {
  let bytes = Buffer.alloc(1024);
  let length = 0;

  /** Reserves aligned space, padded with zeros. @returns The offset of the space. */
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

  /** `write` must read `bytes` only when called, because `take` may replace the buffer. */
  const put = (size: number, write: (at: number) => unknown): void => void write(take(size, size));

  function text(value: string, lengthBytes: 1 | 4): void {
    const utf8 = Buffer.from(value.toWellFormed(), "utf8");
    if (utf8.includes(0)) throw new Error("a string contains a zero byte");
    put(lengthBytes, (offset) => bytes.writeUIntLE(utf8.length, offset, lengthBytes));
    const offset = take(utf8.length + 1, 1);
    utf8.copy(bytes, offset);
  }

  function array(item: SignatureType, values: BusValue): void {
    const lengthOffset = take(4, 4);
    const start = take(0, alignmentOf(item.code));
    if (values instanceof Uint8Array) {
      const from = take(values.length, 1);
      bytes.set(values, from);
    } else if (values instanceof Map) {
      for (const pair of values as ReadonlyMap<BusValue, BusValue>) value(item, pair);
    } else for (const each of values as readonly BusValue[]) value(item, each);
    bytes.writeUInt32LE(length - start, lengthOffset);
  }

  function value({ code, parts }: SignatureType, input: BusValue): void {
    const number = numberTypeOf(code);
    if (number) return put(number.size, (offset) => bytes[number.put](input as never, offset));
    switch (code) {
      case "b":
        return put(4, (offset) => bytes.writeUInt32LE(input === true ? 1 : 0, offset));
      case "s":
      case "o":
        return text(input as string, 4);
      case "g":
        return text(input as string, 1);
      case "a":
        return array(parts[0]!, input);
      case "v": {
        const { signature, value: inside } = input as Variant;
        const type = parseVariantType(signature);
        text(signature, 1);
        return value(type, inside);
      }
      default: // a structure or an entry
        take(0, 8);
        parts.forEach((part, index) => value(part, (input as readonly BusValue[])[index]!));
    }
  }

  return { value, bytes: () => bytes.subarray(0, length) };
}
