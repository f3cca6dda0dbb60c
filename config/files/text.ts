import { open } from "node:fs/promises";
import { errno, fileErrors, unreadable } from "./errors.ts";

/** Larger files are refused: none of ours comes near it. */
const maxBytes = 4 * 1024 * 1024;
const fixByHand = "Correct it by hand or restore a copy; the file was not changed.";

/** Line and column from 1, columns in UTF-16 units as editors count them. */
export function locate(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}

/** `FILE_CORRUPT` with file, line, column, expectation and remedy. `expected` must hold nothing read from the file. */
export function corrupt(path: string, text: string, offset: number, expected: string, fix = fixByHand) {
  const { line, column } = locate(text, Math.max(0, Math.min(offset, text.length)));
  return fileErrors.FILE_CORRUPT(`${path}, line ${line}, column ${column}`, expected, fix, {
    details: { path, line, column, expected },
  });
}

/** The whole file as text, a byte order mark included; `undefined` when there is none.
 *  Rejects `FILE_UNREADABLE`, and `FILE_CORRUPT` when it is not UTF-8 or over 4 MiB. */
export async function readText(path: string): Promise<string | undefined> {
  const bytes = await readBytes(path);
  if (bytes === undefined) return undefined;
  if (bytes.length > maxBytes) throw corrupt(path, "", 0, "a file of at most 4 MiB");
  const text = bytes.toString("utf8");
  if (!Buffer.from(text, "utf8").equals(bytes)) throw corrupt(path, text, text.indexOf("\uFFFD"), "text in UTF-8");
  return text;
}

async function readBytes(path: string): Promise<Buffer | undefined> {
  try {
    const file = await open(path, "r");
    try {
      const { size } = await file.stat();
      return size > maxBytes ? Buffer.alloc(maxBytes + 1) : await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (errno(error) === "ENOENT") return undefined;
    throw unreadable(path, error);
  }
}

/** The text without its byte order mark, and the mark. */
export function splitMark(text: string): { mark: string; body: string } {
  return text.startsWith("\uFEFF") ? { mark: "\uFEFF", body: text.slice(1) } : { mark: "", body: text };
}

export const splice = (text: string, from: number, to: number, insert: string): string =>
  text.slice(0, from) + insert + text.slice(to);

/** The line ending of the first line. */
export const lineEnd = (text: string): string => (/\r?\n/.exec(text)?.[0] ?? "\n");
