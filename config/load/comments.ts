// Removes comments from settings: JSON has none, so files of other products keep them in a key.
import { isObject } from "../../lib/util.ts";

const commentKey = "_comment";

/** Copies the value without keys named `_comment`, at any depth. */
export function withoutComments<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutComments) as T;
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([key]) => key !== commentKey);
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutComments(inner)])) as T;
}
