// Answers the requests of the main thread. Owns the database; runs in the worker.
import type { SearchHit } from "../../service.ts";
import { Backlog } from "./backlog.ts";
import type { Connection } from "./connection.ts";
import type { DatabaseClass } from "./driver.ts";
import { needsReopening, StoreFailure } from "./failure.ts";
import * as history from "./history.ts";
import { Identifiers } from "./identifiers.ts";
import { Indexer } from "./indexer.ts";
import { assertSame, closeDatabase, openDatabase, recover } from "./open.ts";
import { decodeBatch } from "./pack.ts";
import type { OpenRequest, Requests, Stats } from "./protocol.ts";
import { addressesOf, expired, hide, removeStep, shrinkStep } from "./removal.ts";
import { readLog, splitRecords } from "./record.ts";
import { search } from "./search.ts";
import { Writer, type Written } from "./writer.ts";

type Handlers = {
  readonly [K in Exclude<keyof Requests, "open">]: (
    given: Requests[K]["given"],
  ) => Requests[K]["result"] | Promise<Requests[K]["result"]>;
};

/** If less waits, rows are written soon, also while other batches arrive. */
const lightBytes = 256 * 1024;

/** Lets requests that arrived in the meantime run between two steps. */
const nextTurn = () => new Promise<void>((done) => setImmediate(done));

export class Store {
  private readonly driver: DatabaseClass;
  private readonly options: OpenRequest;
  private readonly identifiers: Identifiers;
  private opened: Connection | undefined;
  private writer!: Writer;
  private readonly backlog = new Backlog((written) => this.noteWritten(written));
  private indexer!: Indexer;
  private conversations = 0;
  private oldestAt: number | undefined;
  /** False while deleted text may still be in the log of changes. */
  private isTruncated = true;
  private isClosed = false;
  private hasOthers = false;

  constructor(driver: DatabaseClass, options: OpenRequest) {
    this.driver = driver;
    this.options = options;
    this.identifiers = new Identifiers(options.seed);
  }

  /** Opens the file. @throws StoreFailure STORE_BROKEN, STORE_NEWER or store_unavailable. */
  open(): Requests["open"]["result"] {
    const connection = this.connect();
    const { options, identifiers, hasOthers } = this;
    const renewed = recover(connection, { ...options, hasOthers }, () => identifiers.next());
    return {
      renewed,
      sqlite: String(connection.get("SELECT sqlite_version() AS v")?.v),
      key: this.logKey(connection),
      last: this.backlog.last,
      hasOthers,
    };
  }

  readonly handlers: Handlers = {
    append: (records) => {
      this.backlog.add(splitRecords(records));
      return undefined;
    },
    write: ({ all }) => {
      this.connect();
      if (all) this.backlog.drain();
      else this.backlog.step();
      return undefined;
    },
    load: (given) => this.load(given),
    list: (given) => history.list(this.current(), given),
    find: (given) => history.find(this.current(), given),
    get: ({ id }) => history.toSummary(history.requireRow(this.current(), id)),
    read: (given) => history.read(this.current(), given),
    search: ({ text, limit }) => this.search(text, limit),
    rename: ({ id, title }) => {
      history.rename(this.current(), id, title);
      return undefined;
    },
    forget: ({ ids }) => this.forget(ids),
    expired: (given) => expired(this.current(), given),
    tidy: ({ isIdle }) => this.tidy(isIdle),
    probe: () => {
      this.connect().run("UPDATE meta SET value = value + 1 WHERE key = 'probe'");
      this.backlog.step();
      return undefined;
    },
    rest: () => {
      if (this.backlog.size > 0) return false;
      const { opened } = this;
      this.opened = undefined;
      opened?.truncateLog();
      opened?.close();
      return true;
    },
    close: () => {
      const connection = this.current();
      this.opened = undefined;
      this.isClosed = true;
      closeDatabase(connection);
      return undefined;
    },
  };

  /** Call it after each error: the next request opens the file again if its state is uncertain. */
  failed(error: unknown): void {
    if (error instanceof StoreFailure || !needsReopening(error)) return;
    const connection = this.opened;
    this.opened = undefined;
    try {
      connection?.close();
    } catch {
      // The error that led here is reported.
    }
  }

  /** @returns Undefined while the file is not open. */
  stats(): Stats | undefined {
    const { opened } = this;
    if (opened === undefined) return undefined;
    const bytes = opened.number("PRAGMA page_count") * opened.number("PRAGMA page_size");
    const row = opened.get("SELECT min(used_at) AS used FROM conversation");
    const usedAt = (row?.used as number | null) ?? undefined;
    return { bytes, conversations: this.conversations, oldestAt: this.oldestAt, usedAt };
  }

  /** Number of the last batch whose rows are written. */
  get written(): number {
    return this.backlog.written;
  }

  private connect(): Connection {
    if (this.opened !== undefined) return this.opened;
    if (this.isClosed)
      throw new StoreFailure("store_unavailable", [this.options.path, "it is closed"]);
    const connection = openDatabase(this.driver, this.options);
    try {
      if (this.options.key !== undefined)
        assertSame(connection, this.options.path, this.options.key);
      this.writer = new Writer(connection, this.identifiers);
      this.indexer = new Indexer(connection);
      this.writeJournal(connection);
      this.backlog.attach(connection, this.writer);
      this.takeLog(connection);
      this.backlog.drain();
      this.count(connection);
    } catch (error) {
      connection.close();
      throw error;
    }
    this.opened = connection;
    return connection;
  }

  /** The database with the rows of all batches. If the disk is full, the latest may be missing. */
  private current(): Connection {
    const connection = this.connect();
    this.backlog.drainIfRoom();
    return connection;
  }

  private readonly logKey = (connection: Connection): string =>
    String(connection.get("SELECT value FROM meta WHERE key = 'log'")?.value);

  /** Adds the batches that an earlier process or worker has left in the log. */
  private takeLog(connection: Connection): void {
    const { backlog, options } = this;
    const { records, hasOthers } = readLog(options.path, this.logKey(connection), backlog.written);
    backlog.add(records);
    this.hasOthers = hasOthers;
  }

  /** Writes the rows of batches in a file of version 3. */
  private writeJournal(connection: Connection): void {
    const rows = connection.all("SELECT data FROM journal ORDER BY id");
    if (rows.length === 0) return;
    connection.transaction(() => {
      connection.run("DELETE FROM journal");
      this.writer.write(rows.map(({ data }) => decodeBatch(data as Uint8Array)));
    });
  }

  private load(given: Requests["load"]["given"]): Requests["load"]["result"] {
    const connection = this.connect();
    // The stream continues after its last number.
    if (this.backlog.has(given)) this.backlog.drain();
    return history.load(connection, given);
  }

  private noteWritten({ begun, oldestAt }: Written): void {
    this.conversations += begun;
    if (oldestAt !== undefined) this.oldestAt = Math.min(this.oldestAt ?? oldestAt, oldestAt);
  }

  private count(connection: Connection): void {
    const row = connection.get(
      "SELECT count(*) AS total, min(created_at) AS oldest FROM conversation " +
        "WHERE created_at IS NOT NULL",
    );
    this.conversations = Number(row?.total ?? 0);
    this.oldestAt = (row?.oldest as number | null) ?? undefined;
  }

  private async search(text: string, limit: number): Promise<SearchHit[]> {
    this.current();
    while (this.indexer.step()) await nextTurn();
    return search(this.current(), text, limit);
  }

  private async forget(ids: readonly string[]): Promise<number> {
    const connection = this.connect();
    const isComplete = this.backlog.drainIfRoom();
    const count = connection.transaction(() => {
      if (!isComplete) this.backlog.forget(addressesOf(connection, ids));
      return hide(connection, ids);
    });
    this.writer.reset();
    this.count(connection);
    this.isTruncated = false;
    while (removeStep(this.connect(), this.indexer)) await nextTurn();
    while (shrinkStep(this.connect())) await nextTurn();
    this.isTruncated = this.connect().truncateLog();
    return count;
  }

  private tidy(isIdle: boolean): boolean {
    const connection = this.connect();
    if (this.backlog.size > 0) {
      if (isIdle || this.backlog.size <= lightBytes) this.backlog.step();
      return true;
    }
    if (removeStep(connection, this.indexer)) {
      this.isTruncated = false;
      return true;
    }
    if (this.indexer.step()) return true;
    if (!this.isTruncated) this.isTruncated = connection.truncateLog();
    return false;
  }
}
