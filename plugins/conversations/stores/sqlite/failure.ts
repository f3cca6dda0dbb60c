// Failures of the worker, and their explanation for people.
import type { StoreErrorCode } from "./errors.ts";
import type { Failure } from "./protocol.ts";

/** An error that the main thread turns into one of `storeErrors`. */
export class StoreFailure extends Error {
  readonly code: StoreErrorCode;
  readonly values: readonly string[];

  constructor(code: StoreErrorCode, values: readonly string[], cause?: unknown) {
    super(`${code}: ${values.join(", ")}`, cause === undefined ? undefined : { cause });
    this.code = code;
    this.values = values;
  }
}

export const notFound = (what: string): StoreFailure => new StoreFailure("not_found", [what]);

/** Primary result codes of SQLite (https://www.sqlite.org/rescode.html). */
const reasons: Readonly<Record<number, string>> = {
  3: "access to the file is denied",
  5: "another process holds a lock on the file",
  7: "there is not enough memory",
  8: "the file is read-only",
  10: "the disk reports an error",
  11: "the file is damaged",
  13: "the disk is full",
  14: "the file cannot be opened",
  26: "the file is not a SQLite database",
};

/** `all` of @photostructure/sqlite 1.2 throws errors without a code. */
const codesByMessage: Readonly<Record<string, number>> = {
  "disk I/O error": 10,
  "database disk image is malformed": 11,
  "database or disk is full": 13,
  "file is not a database": 26,
};

/** @returns The primary result code of an error of SQLite; 1 for a syntax error, 0 if unknown. */
export function resultCode(error: unknown): number {
  const { errcode, message } = (error ?? {}) as { errcode?: unknown; message?: unknown };
  if (typeof errcode === "number") return errcode & 0xff;
  return typeof message === "string" ? (codesByMessage[message] ?? 0) : 0;
}

/** Whether the file itself is unusable: damaged, or not a database. */
export const isDamage = (error: unknown): boolean => [11, 26].includes(resultCode(error));

/** Whether the connection must be opened again, because the state of the file is uncertain. */
export const needsReopening = (error: unknown): boolean =>
  [10, 11, 14, 26].includes(resultCode(error));

export const describeError = (error: unknown): string =>
  reasons[resultCode(error)] ?? (error instanceof Error ? error.message : String(error));

/** @param path - Path of the database, for the message. */
export function toFailure(error: unknown, path: string): Failure {
  const cause = error instanceof Error ? error.message : String(error);
  if (error instanceof StoreFailure) return { code: error.code, values: error.values, cause };
  return { code: "store_unavailable", values: [path, describeError(error)], cause };
}
