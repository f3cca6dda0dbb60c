import { createRequire } from "node:module";
import type * as Jsonc from "jsonc-parser";
import { corruptError, readText, splitByteOrderMark } from "./text.ts";
import { isJsonObject, type JsonObject } from "./value.ts";

export interface ParsedFile {
  readonly text: string;
  readonly value: JsonObject;
}

/** Loaded only for the exact place of an error and for edits. */
export const loadJsonc = (): typeof Jsonc => createRequire(import.meta.url)("jsonc-parser");

/** The object in a JSON file; `undefined` when there is no file. Rejects `FILE_CORRUPT`, `FILE_UNREADABLE`. */
export async function readJson(path: string): Promise<ParsedFile | undefined> {
  const text = await readText(path);
  return text === undefined ? undefined : { text, value: parseJson(text, path) };
}

/** `path` only names the file in errors. A byte order mark is accepted, a key twice is not. Throws `FILE_CORRUPT`. */
export function parseJson(text: string, path: string): JsonObject {
  const { mark, body } = splitByteOrderMark(text);
  if (body.trim() === "")
    throw corruptError(path, text, 0, "a JSON object, found an empty file", "Write {} into it.");
  const value = parseBody(body, (offset, expected) =>
    corruptError(path, text, offset + mark.length, expected),
  );
  if (!isJsonObject(value))
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

function parseBody(body: string, fail: (offset: number, expected: string) => Error): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    const errors: Jsonc.ParseError[] = [];
    loadJsonc().parse(body, errors, { disallowComments: true, allowTrailingComma: false });
    const [first] = errors;
    if (first) throw fail(first.offset, jsonExpectations[first.error] ?? "valid JSON");
    // jsonc-parser takes a few spaces and escapes that JSON has not; the engine's message holds the place.
    const position = /at position (\d+)/.exec(error instanceof Error ? error.message : "")?.[1];
    throw fail(Number(position ?? 0), "valid JSON");
  }
}

/** By the codes of jsonc-parser; each says what should stand at the place. */
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

/** Strings followed by a colon. In valid JSON these are the keys, each as often as it is written. */
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
    const inside = Object.values(next);
    if (!Array.isArray(next)) count += inside.length;
    for (const each of inside) open.push(each);
  }
  return count;
}

function findDuplicateKey(json: string): number {
  const seen: Set<string>[] = [];
  let place = 0;
  loadJsonc().visit(json, {
    onObjectBegin: () => void seen.push(new Set()),
    onObjectEnd: () => void seen.pop(),
    onObjectProperty(key, offset) {
      if (seen.at(-1)?.has(key) && place === 0) place = offset;
      seen.at(-1)?.add(key);
    },
  });
  return place;
}
