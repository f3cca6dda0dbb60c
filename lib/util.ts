// Small functions without product knowledge, for every part of the project.

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Copies the object without the keys whose value is undefined. */
export const defined = <T extends object>(object: T): Defined<T> =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as never;

/** Whether the value is an object, and neither an array nor null. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** @returns The value at a path of nested objects; undefined without it. */
export const valueAt = (content: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (node, key) => (isObject(node) && Object.hasOwn(node, key) ? node[key] : undefined),
    content,
  );

/** @returns The object at a path of nested objects; an empty one without it. */
export function objectAt(content: unknown, ...path: readonly string[]): Record<string, unknown> {
  const found = valueAt(content, ...path);
  return isObject(found) ? found : {};
}

/** Formats Unix milliseconds as `2026-11-22 07:14:39 UTC`. */
export const formatUtc = (timestampMs: number): string =>
  `${new Date(timestampMs).toISOString().slice(0, 19).replace("T", " ")} UTC`;

/** Replaces control characters and runs of white space by one space. */
export const toLine = (text: string): string => text.replace(/[\s\p{Cc}]+/gu, " ").trim();

/**
 * Markup of markdown and what remains of it, in this order. The content of a pair of marks cannot
 * contain its opening mark, so that no part of a text is read twice.
 */
const markup: readonly (readonly [RegExp, string])[] = [
  [/^ {0,3}(?:```|~~~).*$/gm, ""],
  [/!?\[([^[\]]*)\]\([^()\s]*\)/g, "$1"],
  [/^ {0,3}(?:#{1,6}|>|[-*+]|\d{1,3}[.)])[ \t]+/gm, ""],
  [/(?<!`)`+([^`]+)`+/g, "$1"],
  [/\*\*(?=\S)((?:[^*\n]|\*(?!\*))+)(?<=\S)\*\*/g, "$1"],
  [/__(?=\S)((?:[^_\n]|_(?!_))+)(?<=\S)__/g, "$1"],
  [/~~(?=\S)((?:[^~\n]|~(?!~))+)(?<=\S)~~/g, "$1"],
  [/(?<![\w*])\*(?=[^\s*])([^*]*[^\s*])\*(?![\w*])/g, "$1"],
  [/(?<!\w)_(?=[^\s_])([^_]*[^\s_])_(?!\w)/g, "$1"],
];

/** @returns A fence that is longer than every run of backticks in the text. */
export function fenceOf(text: string): string {
  const runs = text.match(/`+/g) ?? [];
  return "`".repeat(runs.reduce((length, run) => Math.max(length, run.length + 1), 3));
}

/**
 * Removes the usual markup of markdown, for titles. Other text stays, such as `2 * 3` or
 * `snake_case`.
 */
export const withoutMarkdown = (text: string): string =>
  markup.reduce((plain, [pattern, rest]) => plain.replace(pattern, rest), text);

const maxPersonIdBytes = 128;
const maxNameLength = 200;
/** Control characters and halves of surrogate pairs. */
const unprintable = /[\p{Cc}\p{Cs}]/u;

/** Whether a value can be the id of a person, who is named by a host. */
export function isPersonId(id: unknown): id is string {
  if (typeof id !== "string" || id === "" || unprintable.test(id)) return false;
  // session names contain the id with these two characters escaped
  return Buffer.byteLength(id.replace(/[%/]/g, "%00")) <= maxPersonIdBytes;
}

/** Shortens the name of a person, and replaces control characters. */
export const toPrintable = (name: string): string =>
  [...name.slice(0, maxNameLength)].map((char) => (unprintable.test(char) ? " " : char)).join("");

/**
 * Joins names into the key of a map. Each name follows its length, so different names never have
 * the same key, whatever characters they contain.
 */
export function keyOf(...names: readonly string[]): string {
  let key = "";
  for (const name of names) key += `${name.length} ${name}`;
  return key;
}

/** Calls without an eviction after which a `BoundedMap` lets go of its iterator. */
const maxUnused = 64;

/** Keeps the newest entries. A key that is set again keeps its place. */
export class BoundedMap<K, V> extends Map<K, V> {
  private readonly max: number;
  /**
   * Passes each key once, so that no search for the oldest one crosses those that were deleted. It
   * exists during evictions only: while it rests, it keeps all entries that are deleted.
   */
  private oldest: MapIterator<K> | undefined;
  private unused = 0;

  /** @param max - Entries to keep. */
  constructor(max: number) {
    super();
    this.max = max;
  }

  override set(key: K, value: V): this {
    super.set(key, value);
    if (this.size > this.max) {
      this.oldest ??= this.keys();
      this.unused = 0;
      super.delete(this.oldest.next().value!);
    } else this.rest();
    return this;
  }

  override delete(key: K): boolean {
    this.rest();
    return super.delete(key);
  }

  override clear(): void {
    this.oldest = undefined;
    super.clear();
  }

  private rest(): void {
    if (this.oldest && (this.unused += 1) > maxUnused) this.oldest = undefined;
  }

  /** As `set`, and the key is the newest. */
  renew(key: K, value: V): this {
    this.delete(key);
    return this.set(key, value);
  }
}

/** @returns A promise, and the function that resolves it. */
export function createGate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => void (open = resolve));
  return { opened, open };
}
