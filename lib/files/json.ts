// Reads and edits JSON files.
import { createRequire } from "node:module";
import type * as Jsonc from "jsonc-parser";
import type { Node } from "jsonc-parser";
import { fileErrors } from "./errors.ts";
import {
  corruptError,
  isEqual,
  lineEndingOf,
  lookAlikeError,
  readText,
  replaceRange,
  setAtPath,
  splitByteOrderMark,
  textProblem,
  type FoundText,
  type JsonObject,
} from "./text.ts";
import { lookAlikeOf } from "../look-alikes.ts";
import { isObject } from "../util.ts";

export interface ParsedFile {
  readonly text: string;
  readonly value: JsonObject;
}

/** Loads jsonc-parser, which only edits and the positions of errors need. */
const loadJsonc = (): typeof Jsonc => createRequire(import.meta.url)("jsonc-parser");

/**
 * Reads a JSON file.
 *
 * @returns The text and its object, or undefined if the file does not exist.
 * @throws FILE_CORRUPT if it is not a JSON object without duplicate keys.
 * @throws FILE_UNREADABLE if it cannot be read.
 * @throws FILE_TOO_LARGE if it is larger than 1 MiB.
 */
export async function readJson(path: string): Promise<ParsedFile | undefined> {
  const text = await readText(path);
  return text === undefined ? undefined : { text, value: parseJson(text, path) };
}

/**
 * Parses JSON text that is one object. A byte order mark is accepted.
 *
 * @param path - The name of the file in errors.
 * @throws FILE_CORRUPT if the text is not a JSON object, or has a key twice.
 */
export function parseJson(text: string, path: string): JsonObject {
  const { mark, body } = splitByteOrderMark(text);
  if (body.trim() === "")
    throw corruptError(path, text, 0, "a JSON object, found an empty file", "Write {} into it.");
  const value = parseBody(body, (offset, expected) =>
    corruptError(path, text, offset + mark.length, expected),
  );
  if (!isObject(value))
    throw corruptError(
      path,
      text,
      text.indexOf(body.trimStart()),
      'a JSON object between "{" and "}"',
    );
  if (countKeyTokens(body) !== countKeys(value)) {
    throw corruptError(
      path,
      text,
      findDuplicateKey(body) + mark.length,
      "every key once in an object",
      "Remove one of the two.",
    );
  }
  return value;
}

/**
 * Looks up a text in a JSON file. A number counts as the text of its digits if it is written as
 * JavaScript prints it. `null` and blank text count as no value.
 *
 * @param path - The name of the file in problems.
 * @throws FILE_CORRUPT if a key looks like one of `keys`, and is another one.
 */
export function findJsonText(
  { text, value }: ParsedFile,
  keys: readonly string[],
  path: string,
): FoundText {
  assertExactKeys({ text, value }, keys, path);
  let node: unknown = value;
  for (const [depth, key] of keys.entries()) {
    if (!isObject(node))
      return problemAt(path, text, keys.slice(0, depth), 'an object between "{" and "}"');
    node = Object.hasOwn(node, key) ? node[key] : undefined;
    if (node === undefined || node === null) return { text: undefined };
  }
  if (typeof node === "number" && sourceAt(text, keys) === String(node))
    return { text: String(node) };
  if (typeof node !== "string") return problemAt(path, text, keys);
  return { text: node.trim() === "" ? undefined : node };
}

/**
 * Rejects a file with a key that looks like one of a path. It must not mean that the key was
 * removed.
 *
 * @throws FILE_CORRUPT with the line of the key.
 */
export function assertExactKeys(
  { text, value }: ParsedFile,
  keys: readonly string[],
  path: string,
): void {
  let node: unknown = value;
  for (const [depth, key] of keys.entries()) {
    if (!isObject(node)) return;
    const other = Object.keys(node).find((name) => lookAlikeOf(name, [key]) !== undefined);
    if (other !== undefined)
      throw jsonKeyError({ text, path }, [...keys.slice(0, depth), other], key);
    node = node[key];
  }
}

/** Creates the error for the key at a path, which looks like `known`. */
export function jsonKeyError(
  { text, path }: { readonly text: string; readonly path: string },
  keys: readonly string[],
  known: string,
): Error {
  const { mark, body } = splitByteOrderMark(text);
  const offset = (nodeAt(body, keys)?.parent?.offset ?? 0) + mark.length;
  return lookAlikeError(path, text, offset, known);
}

function problemAt(path: string, text: string, keys: readonly string[], expected?: string) {
  const { mark, body } = splitByteOrderMark(text);
  const offset = (nodeAt(body, keys)?.offset ?? 0) + mark.length;
  return textProblem({ path, text }, offset, keys, expected);
}

function sourceAt(text: string, keys: readonly string[]): string {
  const { body } = splitByteOrderMark(text);
  const node = nodeAt(body, keys);
  return node ? body.slice(node.offset, node.offset + node.length) : "";
}

function parseBody(body: string, fail: (offset: number, expected: string) => Error): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    const errors: Jsonc.ParseError[] = [];
    loadJsonc().parse(body, errors, { disallowComments: true, allowTrailingComma: false });
    const [first] = errors;
    if (first) throw fail(first.offset, jsonExpectations[first.error] ?? "valid JSON");
    // jsonc-parser accepts a few spaces and escapes that are not valid JSON. The message of
    // `JSON.parse` contains the position.
    const position = /at position (\d+)/.exec(error instanceof Error ? error.message : "")?.[1];
    throw fail(Number(position ?? 0), "valid JSON");
  }
}

/** Error codes of jsonc-parser, and what it expected at the position. */
const jsonExpectations: Readonly<Record<number, string>> = {
  1: "a value or a key in double quotes; a comma too many, or a wrong character",
  2: "a number as JSON writes them",
  3: "a key in double quotes",
  4: "a value",
  5: 'a ":" after the key',
  6: 'a "," between two entries',
  7: 'a "}" that closes the object',
  8: 'a "]" that closes the list',
  9: "the end of the file",
  10: "no comment; JSON has none",
  11: "the end of a comment; JSON has none",
  12: "a closing double quote on the same line",
  13: "the end of a number",
  14: "\\u with four hex digits",
  15: 'a known escape such as \\n, \\" or \\\\',
  16: "no control character in a string",
};

/** Counts strings before a colon. In valid JSON these are the keys, including duplicates. */
function countKeyTokens(json: string): number {
  let count = 0;
  for (const [, colon] of json.matchAll(/"(?:[^"\\]|\\.)*"\s*(:)?/gs)) if (colon) count++;
  return count;
}

function countKeys(value: unknown): number {
  let count = 0;
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== "object" || next === null) continue;
    const children = Object.values(next);
    if (!Array.isArray(next)) count += children.length;
    for (const child of children) open.push(child);
  }
  return count;
}

function findDuplicateKey(json: string): number {
  const seen: Set<string>[] = [];
  let position = 0;
  loadJsonc().visit(json, {
    onObjectBegin: () => void seen.push(new Set()),
    onObjectEnd: () => void seen.pop(),
    onObjectProperty(key, offset) {
      if (seen.at(-1)?.has(key) && position === 0) position = offset;
      seen.at(-1)?.add(key);
    },
  });
  return position;
}

/**
 * A path of object keys with the new value, or the request to remove the key. Missing and `null`
 * parents become objects.
 */
type JsonEdit =
  | { readonly path: readonly string[]; readonly value: unknown }
  | { readonly path: readonly string[]; readonly remove: true };

/**
 * Applies edits to JSON text and leaves all other bytes unchanged. The result is parsed again and
 * compared with the expected value.
 *
 * @param text - The present text; undefined makes a new file.
 * @param file - The name of the file in errors.
 * @throws FILE_CORRUPT if the text is not a JSON object.
 * @throws FILE_EDIT_REFUSED if a parent is not an object, or the edit cannot be made safely.
 */
export function editJson(
  text: string | undefined,
  edits: readonly JsonEdit[],
  file = "The file",
): string {
  const { mark, body } = splitByteOrderMark(text ?? "{}\n");
  let next = body;
  const parsed = { text: body, value: parseJson(body, file) };
  for (const { path } of edits) assertExactKeys(parsed, path, file);
  for (const edit of edits) next = applyEdit(next, edit, file);
  return mark + next;
}

function applyEdit(body: string, edit: JsonEdit, file: string): string {
  const value = "value" in edit ? (JSON.parse(JSON.stringify(edit.value)) as unknown) : undefined;
  const wanted = setAtPath(parseJson(body, file), edit.path, value);
  const refused = (reason: string) =>
    fileErrors.FILE_EDIT_REFUSED(file, reason, { details: { path: edit.path } });
  const name = edit.path.join(".");
  if (!wanted) throw refused(`a parent of "${name}" is not an object. Replace it with {} by hand.`);
  const next =
    value === undefined ? withoutEntry(body, edit.path) : withValueAt(body, edit.path, value);
  if (!isEqual(verifyEdit(next, file), wanted))
    throw refused(`"${name}" cannot be set safely. Set it by hand.`);
  return next;
}

function verifyEdit(text: string, file: string): JsonObject | undefined {
  try {
    return parseJson(text, file);
  } catch {
    return undefined;
  }
}

const nodeAt = (body: string, path: readonly string[]): Node | undefined => {
  const root = loadJsonc().parseTree(body);
  return root && loadJsonc().findNodeAtLocation(root, [...path]);
};

function withValueAt(body: string, path: readonly string[], value: unknown): string {
  let depth = path.length;
  let node = nodeAt(body, path);
  while (!node) node = nodeAt(body, path.slice(0, --depth));
  const rest = path.slice(depth);
  if (rest.length === 0 || node.type !== "object") {
    const rendered = renderJson(body, nestUnder(rest, value), indentationAt(body, node.offset));
    return replaceRange(body, node.offset, node.offset + node.length, rendered);
  }
  const [key = "", ...below] = rest;
  return insertEntry(body, node, key, nestUnder(below, value));
}

const nestUnder = (path: readonly string[], value: unknown) =>
  path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);

/** Inserts an entry after the last one, formatted like the first one. */
function insertEntry(body: string, object: Node, key: string, value: unknown): string {
  const last = object.children?.at(-1);
  const outer = indentationAt(body, object.offset);
  const lead = leadingSpaceOf(body, object, outer);
  const colon = colonTextOf(body, object);
  const indent = lead.includes("\n") ? lead.slice(lead.lastIndexOf("\n") + 1) : undefined;
  const entry =
    JSON.stringify(key) +
    colon +
    (indent === undefined ? JSON.stringify(value) : renderJson(body, value, indent));
  const end = last && last.offset + last.length;
  if (end !== undefined)
    return replaceRange(body, end, end, `,${commaGapOf(body, object, lead)}${entry}`);
  const close = lead.includes("\n") ? lineEndingOf(body) + outer : lead;
  return replaceRange(
    body,
    object.offset,
    object.offset + object.length,
    `{${lead}${entry}${close}}`,
  );
}

/**
 * The white space between "{" and the first key. For an empty object, the white space that fits the
 * rest of the file.
 */
function leadingSpaceOf(body: string, object: Node, outer: string): string {
  const first = object.children?.[0];
  if (first) return body.slice(object.offset + 1, first.offset);
  const compact = !body.trim().includes("\n") && /[^\s{}]/.test(body);
  return compact ? "" : lineEndingOf(body) + outer + jsonIndentUnit(body);
}

/** The white space after a comma. */
function commaGapOf(body: string, object: Node, lead: string): string {
  if (lead.includes("\n")) return lead;
  const [first, second] = object.children ?? [];
  if (!first || !second) return colonTextOf(body, object).slice(1);
  return body.slice(first.offset + first.length, second.offset).replace(/^\s*,/, "");
}

/** The colon with the white space around it. */
function colonTextOf(body: string, object: Node): string {
  const [key, value] = object.children?.[0]?.children ?? [];
  const between = key && value && body.slice(key.offset + key.length, value.offset).trimStart();
  if (between) return between.includes("\n") ? ": " : between;
  return !body.trim().includes("\n") && /":\S/.test(body) ? ":" : ": ";
}

function withoutEntry(body: string, path: readonly string[]): string {
  const property = nodeAt(body, path)?.parent;
  const object = property?.parent;
  const siblings = object?.children;
  if (!property || !object || !siblings) return body;
  const at = siblings.indexOf(property);
  const before = siblings[at - 1];
  const after = siblings[at + 1];
  const end = property.offset + property.length;
  if (before) return replaceRange(body, before.offset + before.length, end, "");
  if (after) return replaceRange(body, property.offset, after.offset, "");
  return replaceRange(body, object.offset, object.offset + object.length, "{}");
}

const indentationAt = (body: string, offset: number) =>
  /^[ \t]*/.exec(body.slice(body.lastIndexOf("\n", offset - 1) + 1, offset))?.[0] ?? "";

const jsonIndentUnit = (body: string) => /\n([ \t]+)"/.exec(body)?.[1] ?? "  ";

function renderJson(body: string, value: unknown, indent: string): string {
  if (!body.trim().includes("\n") && /[^\s{}]/.test(body)) return JSON.stringify(value);
  return JSON.stringify(value, null, jsonIndentUnit(body)).replaceAll(
    "\n",
    lineEndingOf(body) + indent,
  );
}
