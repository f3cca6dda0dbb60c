import { isDeepStrictEqual } from "node:util";

export type JsonObject = Record<string, unknown>;

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A copy with only `path` changed; `null` and missing parents become objects. `undefined` removes. A parent of another
 *  kind makes it `undefined`. */
export function setAtPath(
  tree: JsonObject,
  path: readonly string[],
  value: unknown,
): JsonObject | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return undefined;
  if (rest.length === 0 && value === undefined) {
    return Object.fromEntries(Object.entries(tree).filter(([name]) => name !== key));
  }
  if (rest.length === 0) return { ...tree, [key]: value };
  const child = (Object.hasOwn(tree, key) ? tree[key] : undefined) ?? undefined;
  if (child === undefined && value === undefined) return tree;
  if (child !== undefined && !isJsonObject(child)) return undefined;
  const changed = setAtPath(child ?? {}, rest, value);
  return changed && { ...tree, [key]: changed };
}

export const isEqual = (left: unknown, right: unknown): boolean => isDeepStrictEqual(left, right);
