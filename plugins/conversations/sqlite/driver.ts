// A connection to SQLite: `node:sqlite`, or in older versions of Node the package with the same
// interface.
import { createRequire, isBuiltin } from "node:module";

export type SqlValue = null | number | string | Uint8Array;
export type Row = Record<string, SqlValue>;

/** The part of `StatementSync` that the store uses. */
interface Statement {
  run(...values: SqlValue[]): {
    readonly changes: number | bigint;
    readonly lastInsertRowid: number | bigint;
  };
  get(...values: SqlValue[]): Row | undefined;
  all(...values: SqlValue[]): Row[];
}

/** The part of `DatabaseSync` that the store uses. */
interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

/** The class `DatabaseSync`. */
export type DatabaseClass = new (path: string, options?: OpenOptions) => Database;

interface OpenOptions {
  /** Nothing is written, also when the last connection closes. */
  readonly readOnly?: boolean;
}

const builtin = "node:sqlite";
const fallback = "@photostructure/sqlite";

/**
 * Names the driver that the store uses: `node:sqlite` in Node 22.13, Deno 2.7, Bun 1.4 and newer,
 * in older versions of Node the package `@photostructure/sqlite`.
 *
 * @param versions - The versions of the runtime.
 * @returns Undefined if there is neither.
 */
export function findSqliteDriver(
  versions: Readonly<Record<string, string | undefined>> = process.versions,
): string | undefined {
  const { bun, deno } = versions;
  const [major = 0, minor = 0] = (deno ?? "").split(".").map(Number);
  // `node:sqlite` of Deno 2.6 does not know numbered parameters.
  if (deno !== undefined && major * 1_000 + minor < 2_007) return undefined;
  if (isBuiltin(builtin)) return builtin;
  if (bun !== undefined) return undefined; // Bun 1.3 hangs with the package.
  try {
    createRequire(import.meta.url).resolve(fallback);
    return fallback;
  } catch {
    return undefined;
  }
}

/** @returns Undefined if there is no driver, or its native code does not load. */
export function loadDriver(): DatabaseClass | undefined {
  const name = findSqliteDriver();
  if (name === undefined) return undefined;
  const { emitWarning } = process;
  // Node 22 and 24 warn that SQLite is experimental; the owner can do nothing about it.
  process.emitWarning = (() => undefined) as typeof emitWarning;
  try {
    const loaded = createRequire(import.meta.url)(name) as { DatabaseSync: DatabaseClass };
    return loaded.DatabaseSync;
  } catch {
    return undefined;
  } finally {
    process.emitWarning = emitWarning;
  }
}

/**
 * A connection that prepares each statement once. Keep a reference to it while its statements are
 * used: `@photostructure/sqlite` 1.2.1 crashes the process otherwise.
 */
export class Connection {
  private readonly database: Database;
  private readonly statements = new Map<string, Statement>();

  constructor(driver: DatabaseClass, path: string, options: OpenOptions = {}) {
    this.database = new driver(path, options);
  }

  /** Runs statements without values. */
  exec(sql: string): void {
    this.database.exec(sql);
  }

  /** @returns The rowid of the row that was inserted. */
  run(sql: string, ...values: SqlValue[]): number {
    return Number(this.statement(sql).run(...values).lastInsertRowid);
  }

  get(sql: string, ...values: SqlValue[]): Row | undefined {
    return this.statement(sql).get(...values);
  }

  all(sql: string, ...values: SqlValue[]): Row[] {
    return this.statement(sql).all(...values);
  }

  /** The first column of the first row; 0 if there is none. */
  number(sql: string, ...values: SqlValue[]): number {
    return Number(Object.values(this.get(sql, ...values) ?? {})[0] ?? 0);
  }

  /** Runs a function in a transaction: all of its changes are written, or none. */
  transaction<T>(run: () => T): T {
    this.exec("BEGIN IMMEDIATE");
    try {
      const result = run();
      this.exec("COMMIT");
      return result;
    } catch (error) {
      try {
        this.exec("ROLLBACK");
      } catch {
        // SQLite has rolled the transaction back itself, for example because the disk is full.
      }
      throw error;
    }
  }

  close(): void {
    this.statements.clear();
    this.database.close();
  }

  private statement(sql: string): Statement {
    let statement = this.statements.get(sql);
    if (statement === undefined) this.statements.set(sql, (statement = this.database.prepare(sql)));
    return statement;
  }
}

/** Primary result codes of SQLite (https://www.sqlite.org/rescode.html) that the store knows. */
export const codes = { busy: 5, full: 13 } as const;

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
  "database is locked": 5,
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

/** True if the file itself is unusable: damaged, or not a database. */
export const isDamage = (error: unknown): boolean => [11, 26].includes(resultCode(error));

const fixes: Readonly<Record<number, (path: string) => string>> = {
  3: (path) => `Let the user of Doorward write to ${path} and its folder.`,
  5: (path) => `End the program that locks ${path}: fuser ${path}`,
  8: (path) => `Let the user of Doorward write to ${path} and its folder.`,
  10: () => "Check the disk; the log of the system says more.",
  13: () => "Free space on the disk. Doorward then continues by itself.",
  14: (path) => `Let the user of Doorward write to ${path} and its folder.`,
};

/** @returns What the owner can do about a failed statement; undefined if that is not known. */
export const fixOf = (error: unknown, path: string): string | undefined =>
  fixes[resultCode(error)]?.(path);

/** Says in words of the owner why a statement failed. */
export const describeError = (error: unknown): string =>
  reasons[resultCode(error)] ?? (error instanceof Error ? error.message : String(error));

/** True for errors of the file or the disk, not of a row (https://www.sqlite.org/rescode.html). */
export const isOfFile = (error: unknown): boolean =>
  [3, 5, 7, 8, 10, 11, 13, 14, 26].includes(resultCode(error));
