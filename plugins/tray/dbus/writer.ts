import {
  alignmentOf,
  parseSignature,
  type SignatureType,
  type BusValue,
  type Variant,
} from "./signature.ts";

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
