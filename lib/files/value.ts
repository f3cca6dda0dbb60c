import { isDeepStrictEqual } from "node:util";

export type Tree = Record<string, unknown>;

export const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A copy with only `path` changed; `null` and missing parents become objects. `undefined` removes. A parent of another
 *  kind makes it `undefined`. */
export function withPath(tree: Tree, path: readonly string[], value: unknown): Tree | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return undefined;
  if (rest.length === 0 && value === undefined) {
    return Object.fromEntries(Object.entries(tree).filter(([name]) => name !== key));
  }
  if (rest.length === 0) return { ...tree, [key]: value };
  const child = (Object.hasOwn(tree, key) ? tree[key] : undefined) ?? undefined;
  if (child === undefined && value === undefined) return tree;
  if (child !== undefined && !isTree(child)) return undefined;
  const changed = withPath(child ?? {}, rest, value);
  return changed && { ...tree, [key]: changed };
}

export const same = (left: unknown, right: unknown): boolean => isDeepStrictEqual(left, right);
