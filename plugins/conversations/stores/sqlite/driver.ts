// Finds the SQLite of this Node, or the package with the same interface.
import { createRequire, isBuiltin } from "node:module";

export type SqlValue = null | number | string | Uint8Array;
export type Row = Record<string, SqlValue>;

/** The part of `StatementSync` that the store uses. */
export interface Statement {
  run(...values: SqlValue[]): {
    readonly changes: number | bigint;
    readonly lastInsertRowid: number | bigint;
  };
  get(...values: SqlValue[]): Row | undefined;
  all(...values: SqlValue[]): Row[];
}
/** The part of `DatabaseSync` that the store uses. */
export interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}
export type DatabaseClass = new (path: string) => Database;

const builtin = "node:sqlite";
const fallback = "@photostructure/sqlite";

/**
 * Names the driver that `openSqliteStorage` uses: `node:sqlite` from Node 22.13, otherwise the
 * package `@photostructure/sqlite`.
 *
 * @returns Undefined if there is neither.
 */
export function findSqliteDriver(): string | undefined {
  if (isBuiltin(builtin)) return builtin;
  try {
    createRequire(import.meta.url).resolve(fallback);
    return fallback;
  } catch {
    return undefined;
  }
}

/** @returns Undefined if this Node has no driver, or its native code does not load. */
export function loadDriver(): DatabaseClass | undefined {
  const name = findSqliteDriver();
  if (name === undefined) return undefined;
  try {
    const loaded = createRequire(import.meta.url)(name) as { DatabaseSync: DatabaseClass };
    return loaded.DatabaseSync;
  } catch {
    return undefined;
  }
}
