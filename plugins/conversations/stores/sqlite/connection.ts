// A connection to the database with cached statements and transactions.
import type { Database, DatabaseClass, Row, SqlValue, Statement } from "./driver.ts";

export class Connection {
  private readonly database: Database;
  private readonly statements = new Map<string, Statement>();

  constructor(driver: DatabaseClass, path: string) {
    this.database = new driver(path);
  }

  /** Runs statements without values. */
  exec(sql: string): void {
    this.database.exec(sql);
  }

  run(sql: string, ...values: SqlValue[]): { changes: number; id: number } {
    const { changes, lastInsertRowid } = this.statement(sql).run(...values);
    return { changes: Number(changes), id: Number(lastInsertRowid) };
  }

  get(sql: string, ...values: SqlValue[]): Row | undefined {
    return this.statement(sql).get(...values);
  }

  all(sql: string, ...values: SqlValue[]): Row[] {
    return this.statement(sql).all(...values);
  }

  /** The first column of the first row, which must be a number. */
  number(sql: string, ...values: SqlValue[]): number {
    return Number(Object.values(this.get(sql, ...values) ?? {})[0] ?? 0);
  }

  /** Runs a function in a transaction; all of its changes are written, or none. */
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

  /**
   * Writes the log of changes to the database and empties it.
   *
   * @returns False if a reader prevents it.
   */
  truncateLog(): boolean {
    return this.number("PRAGMA wal_checkpoint(TRUNCATE)") === 0;
  }

  close(): void {
    this.statements.clear();
    this.database.close();
  }

  private statement(sql: string): Statement {
    let statement = this.statements.get(sql);
    if (statement === undefined) {
      statement = this.database.prepare(sql);
      this.statements.set(sql, statement);
    }
    return statement;
  }
}
