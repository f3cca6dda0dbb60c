import { constants, open } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { codeOf } from "../../kernel/index.ts";
import { errnoOf, fileErrors, unreadableError } from "./errors.ts";

/** Larger files are refused: none of ours comes near it. */
const maxBytes = 1024 * 1024;
/** Levels of brackets, and of lists in lists on one line: deeper ones mean nothing here, and end a parser. */
const maxDepth = 100;
const nestedSequencePattern = new RegExp(String.raw`(?:[-?:][ \t]+){${maxDepth + 1}}`);
const repairHint = "Correct it by hand or restore a copy; the file was not changed.";

/** Line and column from 1, columns in UTF-16 units as editors count them. */
export function positionAt(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}

/** `FILE_CORRUPT` with file, line, column, expectation and remedy. `expected` must hold nothing read from the file. */
export function corruptError(
  path: string,
  text: string,
  offset: number,
  expected: string,
  fix = repairHint,
) {
  const { line, column } = positionAt(text, Math.max(0, Math.min(offset, text.length)));
  return fileErrors.FILE_CORRUPT(`${path}, line ${line}, column ${column}`, expected, fix, {
    details: { path, line, column, expected },
  });
}

/** The whole file as text, a byte order mark included; `undefined` when there is none. Rejects `FILE_UNREADABLE`, also
 *  for what is no regular file, `FILE_TOO_LARGE` over 1 MiB, and `FILE_CORRUPT` when it is not UTF-8 or nested over a
 *  hundred levels deep. */
export async function readText(path: string): Promise<string | undefined> {
  const bytes = await readBytes(path);
  if (bytes === undefined) return undefined;
  if (bytes.length > maxBytes) throw fileErrors.FILE_TOO_LARGE(path, { details: { path } });
  const text = bytes.toString("utf8");
  if (!Buffer.from(text, "utf8").equals(bytes))
    throw corruptError(path, text, text.indexOf("\uFFFD"), "text in UTF-8");
  const deep = findExcessiveDepth(text);
  if (deep !== undefined)
    throw corruptError(path, text, deep, `brackets and dashes at most ${maxDepth} levels deep`);
  return text;
}

/** The content, and of a larger file 1 MiB and a byte; `undefined`: there is none. Rejects `FILE_UNREADABLE`. */
export async function readBytes(path: string): Promise<Buffer | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)); // a pipe would wait for a writer
    try {
      const status = await file.stat();
      if (!status.isFile()) throw fileErrors.FILE_UNREADABLE(path, "it is not a regular file");
      let bytes = Buffer.allocUnsafe(Math.min(status.size, maxBytes) + 1);
      let length = 0;
      for (let read = -1; read !== 0 && length < bytes.length;) {
        read = (await file.read(bytes, length, bytes.length - length)).bytesRead;
        length += read;
        if (length === bytes.length && length <= maxBytes)
          bytes = Buffer.concat([bytes], maxBytes + 1); // it grew
      }
      return Buffer.from(bytes.subarray(0, length));
    } finally {
      await file.close();
    }
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw codeOf(error) === "FILE_UNREADABLE" ? error : unreadableError(path, error);
  }
}

/** Where brackets or dashes are nested too deeply, those in quotes and comments included. */
function findExcessiveDepth(text: string): number | undefined {
  const dashes = nestedSequencePattern.exec(text);
  if (dashes) return dashes.index;
  let depth = 0;
  for (const { 0: sign, index } of text.matchAll(/[[\]{}]/g)) {
    depth = sign === "[" || sign === "{" ? depth + 1 : Math.max(0, depth - 1);
    if (depth > maxDepth) return index;
  }
  return undefined;
}

/** The text without its byte order mark, and the mark. */
export function splitByteOrderMark(text: string): { mark: string; body: string } {
  return text.startsWith("\uFEFF")
    ? { mark: "\uFEFF", body: text.slice(1) }
    : { mark: "", body: text };
}

export const replaceRange = (text: string, from: number, to: number, insert: string): string =>
  text.slice(0, from) + insert + text.slice(to);

/** The line ending of the first line. */
export const lineEndingOf = (text: string): string => /\r?\n/.exec(text)?.[0] ?? "\n";

export type JsonObject = Record<string, unknown>;

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A copy with only `path` changed; `null` and missing parents become objects. `undefined` removes. A parent of another
 *  kind makes it `undefined`. */
export function setAtPath(
  jsonObject: JsonObject,
  path: readonly string[],
  value: unknown,
): JsonObject | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return undefined;
  if (rest.length === 0 && value === undefined) {
    return Object.fromEntries(Object.entries(jsonObject).filter(([name]) => name !== key));
  }
  if (rest.length === 0) return { ...jsonObject, [key]: value };
  const child = (Object.hasOwn(jsonObject, key) ? jsonObject[key] : undefined) ?? undefined;
  if (child === undefined && value === undefined) return jsonObject;
  if (child !== undefined && !isJsonObject(child)) return undefined;
  const changed = setAtPath(child ?? {}, rest, value);
  return changed && { ...jsonObject, [key]: changed };
}

export const isEqual = (left: unknown, right: unknown): boolean => isDeepStrictEqual(left, right);
