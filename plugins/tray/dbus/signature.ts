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
