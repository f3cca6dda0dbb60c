// Opens files once their type is known, reads them, and finds positions in texts.
// Opening a pipe waits for its other process, and opening a device can have effects.
import { closeSync, constants, fstatSync, openSync, statSync, type Stats } from "node:fs";
import { lstat, open, stat, type FileHandle } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { errnoOf, fileErrors, unreadableError } from "./errors.ts";
import { isObject } from "../util.ts";

/** `read`: an existing file. `append`: creates the file with mode 0600 if it is missing. */
type FileAccess = "read" | "append";

// Undefined on Windows, which counts as 0 below. O_NONBLOCK, because the file may be replaced
// between check and opening.
const { O_NONBLOCK, O_NOFOLLOW } = constants;
const flagsOf = (access: FileAccess): number =>
  O_NONBLOCK |
  (access === "read"
    ? constants.O_RDONLY
    : constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT);

function assertRegularFile(path: string, found: Stats): void {
  if (found.isFile()) return;
  const code = found.isDirectory() ? "EISDIR" : "ENXIO";
  throw Object.assign(new Error(`${path} is not a regular file`), { code });
}

const isNew = (error: unknown, access: FileAccess): boolean =>
  access === "append" && errnoOf(error) === "ENOENT";

/**
 * Opens a regular file.
 *
 * @param options.follow - False: a symbolic link is not a regular file. @defaultValue true
 * @throws EISDIR for a folder, ENXIO for anything else that is not a regular file, or the error of
 *   the system. `describeErrno` explains it.
 */
export async function openRegularFile(
  path: string,
  access: FileAccess = "read",
  { follow = true }: { follow?: boolean } = {},
): Promise<FileHandle> {
  try {
    assertRegularFile(path, await (follow ? stat : lstat)(path));
  } catch (error) {
    if (!isNew(error, access)) throw error;
  }
  const file = await open(path, flagsOf(access) | (follow ? 0 : O_NOFOLLOW), 0o600);
  try {
    assertRegularFile(path, await file.stat());
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Like `openRegularFile`. @returns The file descriptor. */
export function openRegularFileSync(path: string, access: FileAccess = "read"): number {
  try {
    assertRegularFile(path, statSync(path));
  } catch (error) {
    if (!isNew(error, access)) throw error;
  }
  const file = openSync(path, flagsOf(access), 0o600);
  try {
    assertRegularFile(path, fstatSync(file));
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/**
 * Reads the beginning of an open file.
 *
 * @param maxBytes - Reads one byte more if the file has more, so that the caller notices it.
 */
async function readBeginning(file: FileHandle, maxBytes: number): Promise<Buffer> {
  let bytes = Buffer.allocUnsafe(Math.min((await file.stat()).size, maxBytes) + 1);
  let length = 0;
  for (let read = -1; read !== 0 && length < bytes.length; length += read) {
    read = (await file.read(bytes, length, bytes.length - length)).bytesRead;
    if (length + read === bytes.length && bytes.length <= maxBytes)
      bytes = Buffer.concat([bytes], maxBytes + 1); // The file has grown.
  }
  return Buffer.from(bytes.subarray(0, length));
}

/**
 * Reads a regular file of at most `maxBytes`.
 *
 * @throws EFBIG if it is larger, and the errors of `openRegularFile`.
 */
export async function readRegularFile(path: string, maxBytes: number): Promise<Buffer> {
  const file = await openRegularFile(path);
  try {
    const bytes = await readBeginning(file, maxBytes);
    if (bytes.length <= maxBytes) return bytes;
    const message = `${path} is larger than ${maxBytes} bytes`;
    throw Object.assign(new Error(message), { code: "EFBIG" });
  } finally {
    await file.close();
  }
}

/** Larger files are rejected. Configuration files are far smaller. */
const maxBytes = 1024 * 1024;
/**
 * Levels of brackets, and of lists inside lists on one line. Deeper input can exhaust the stack of
 * a parser.
 */
const maxDepth = 100;
const nestedSequencePattern = new RegExp(String.raw`(?:[-?:][ \t]+){${maxDepth + 1}}`);
const repairHint = "Correct it by hand or restore a copy; the file was not changed.";

/** Line and column from 1. Columns count UTF-16 units, as editors do. */
function positionAt(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, Math.max(0, offset));
  return { line: before.split("\n").length, column: before.length - before.lastIndexOf("\n") };
}

/**
 * Creates `FILE_CORRUPT` with file, line, column, expectation and fix. `expected` must not contain
 * anything from the file.
 */
export function corruptError(
  path: string,
  text: string,
  offset: number,
  expected: string,
  fix = repairHint,
) {
  const { line, column } = positionAt(text, offset);
  return fileErrors.FILE_CORRUPT(`${path}, line ${line}, column ${column}`, expected, fix, {
    details: { path, line, column, expected },
  });
}

/** Creates the error for a key that looks like `known` and is another one. */
export const lookAlikeError = (path: string, text: string, offset: number, known: string) =>
  corruptError(
    path,
    text,
    offset,
    `the key "${known}" in exactly these letters`,
    "The key there looks like it, but has other capitals, spaces, hidden characters or letters.",
  );

/**
 * A text looked up in a file: undefined if the path does not exist or has no value. `problem` is
 * set if there is a value that is not usable as a text.
 */
export type FoundText =
  | { readonly text: string | undefined; readonly problem?: undefined }
  | { readonly text?: undefined; readonly problem: TextProblem };

interface TextProblem {
  /** File, line and column. */
  readonly place: string;
  /** Path of the wrong value, with dots. */
  readonly key: string;
  /** Contains nothing from the file. */
  readonly expected: string;
}

export const inQuotes = "text in quotation marks";

/** Creates a `FoundText` with a problem at a position. */
export function textProblem(
  file: { readonly path: string; readonly text: string },
  offset: number,
  keys: readonly string[],
  expected = inQuotes,
): FoundText {
  const { line, column } = positionAt(file.text, offset);
  const place = `${file.path}, line ${line}, column ${column}`;
  return { problem: { place, key: keys.join("."), expected } };
}

/**
 * Reads a file as text, including a byte order mark.
 *
 * @returns Undefined if the file does not exist.
 * @throws FILE_UNREADABLE if it cannot be read, or is not a regular file.
 * @throws FILE_TOO_LARGE if it is larger than 1 MiB.
 * @throws FILE_CORRUPT if it is not UTF-8, or is nested more than 100 levels deep.
 */
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

/**
 * Reads a file, but at most 1 MiB and one byte.
 *
 * @returns Undefined if the file does not exist.
 * @throws FILE_UNREADABLE if it cannot be read, or is not a regular file.
 */
export async function readBytes(path: string): Promise<Buffer | undefined> {
  try {
    const file = await openRegularFile(path);
    try {
      return await readBeginning(file, maxBytes);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw unreadableError(path, error);
  }
}

/**
 * The offset at which brackets or dashes are nested too deeply. Brackets in quotes and comments
 * count too.
 */
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

/** Splits the text into its byte order mark and the rest. */
export function splitByteOrderMark(text: string): { mark: string; body: string } {
  return text.startsWith("\uFEFF")
    ? { mark: "\uFEFF", body: text.slice(1) }
    : { mark: "", body: text };
}

export const replaceRange = (text: string, from: number, to: number, insert: string): string =>
  text.slice(0, from) + insert + text.slice(to);

/**
 * The line ending of the first line; `\
 * ` if there is only one line.
 */
export const lineEndingOf = (text: string): string => /\r?\n/.exec(text)?.[0] ?? "\n";

export type JsonObject = Record<string, unknown>;

/**
 * Copies the object with one path changed. `null` and missing parents become objects.
 *
 * @param value - Undefined removes the key.
 * @returns Undefined if a parent is not an object.
 */
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
  if (child !== undefined && !isObject(child)) return undefined;
  const changed = setAtPath(child ?? {}, rest, value);
  return changed && { ...jsonObject, [key]: changed };
}

export const isEqual = (left: unknown, right: unknown): boolean => isDeepStrictEqual(left, right);
