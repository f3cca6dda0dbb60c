/* Signatures of the D-Bus wire format (specification 0.43, "Type System"): `a{sv}` is a dictionary of variants. */

export interface Type {
  /** One of `ybnqiuxtdsogv`, `a`, `(` or `{`. */
  readonly code: string;
  /** Of an array its item, of a structure its fields, of an entry key and value. */
  readonly parts: readonly Type[];
}

/** A value whose type travels with it. */
export interface Variant {
  readonly signature: string;
  readonly value: Value;
}
/** `ynqiu` and `d` are numbers, `xt` bigints, `ay` bytes, `a{…}` a Map, structures and other arrays arrays. */
export type Value =
  | number
  | bigint
  | boolean
  | string
  | Uint8Array
  | Variant
  | readonly Value[]
  | ReadonlyMap<Value, Value>;

export const variant = (signature: string, value: Value): Variant => ({ signature, value });

/** Of the specification. */
const LONGEST = 255;
const DEEPEST = 32;

/** The complete types of a signature. Throws when it is not one. */
export function typesOf(signature: string): readonly Type[] {
  if (signature.length > LONGEST) throw new Error("a signature is too long");
  let at = 0;
  const refuse = (): never => {
    throw new Error(`${JSON.stringify(signature)} is not a signature`);
  };

  function next(arrays: number, structures: number): Type {
    const code = signature[at++] ?? refuse();
    if ("ybnqiuxtdsogv".includes(code)) return { code, parts: [] };
    if (code === "a" && arrays < DEEPEST) {
      const isDictionary = signature[at] === "{";
      return {
        code,
        parts: [isDictionary ? entry(arrays + 1, structures + 1) : next(arrays + 1, structures)],
      };
    }
    if (code !== "(" || structures >= DEEPEST) return refuse();
    const parts: Type[] = [];
    while (signature[at] !== ")") parts.push(next(arrays, structures + 1));
    at += 1;
    return parts.length > 0 ? { code, parts } : refuse();
  }

  function entry(arrays: number, structures: number): Type {
    at += 1;
    if (structures > DEEPEST || !"ybnqiuxtdsog".includes(signature[at] ?? "v")) refuse();
    const parts = [next(arrays, structures), next(arrays, structures)];
    return signature[at++] === "}" ? { code: "{", parts } : refuse();
  }

  const types: Type[] = [];
  while (at < signature.length) types.push(next(0, 0));
  return types;
}

/** Bytes a value of this type is aligned to. */
export function alignmentOf(code: string): 1 | 2 | 4 | 8 {
  if ("xtd({".includes(code)) return 8;
  if ("biusoa".includes(code)) return 4;
  return "nq".includes(code) ? 2 : 1;
}

const path = /^\/(?:[A-Za-z0-9_]+(?:\/[A-Za-z0-9_]+)*)?$/;
export const isObjectPath = (text: string): boolean => path.test(text);
