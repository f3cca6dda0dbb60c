import {
  alignmentOf,
  isObjectPath,
  parseSignature,
  type SignatureType,
  type BusValue,
} from "./signature.ts";

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
