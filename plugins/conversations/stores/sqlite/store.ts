// Answers the requests of the main thread. Owns the database; runs in the worker.
import type { SearchHit } from "../../service.ts";
import type { Connection } from "./connection.ts";
import type { DatabaseClass } from "./driver.ts";
import { needsReopening, StoreFailure } from "./failure.ts";
import * as history from "./history.ts";
import { Identifiers } from "./identifiers.ts";
import { Indexer } from "./indexer.ts";
import { Journal } from "./journal.ts";
import { closeDatabase, openDatabase, recover } from "./open.ts";
import { decodeBatch } from "./pack.ts";
import type { OpenRequest, Requests, Stats } from "./protocol.ts";
import { addressesOf, expired, hide, removeStep, shrinkStep } from "./removal.ts";
import { search } from "./search.ts";
import { Writer, type Written } from "./writer.ts";

type Handlers = {
  readonly [K in Exclude<keyof Requests, "open">]: (
    given: Requests[K]["given"],
  ) => Requests[K]["result"] | Promise<Requests[K]["result"]>;
};

/** Batches of less than this have their rows written soon, also while others arrive. */
const lightBytes = 256 * 1024;

/** Lets requests that arrived in the meantime run between two steps. */
const nextTurn = () => new Promise<void>((done) => setImmediate(done));

export class Store {
  private readonly driver: DatabaseClass;
  private readonly options: OpenRequest;
  private readonly identifiers: Identifiers;
  private opened: Connection | undefined;
  private writer!: Writer;
  private journal!: Journal;
  private indexer!: Indexer;
  private conversations = 0;
  private oldestAt: number | undefined;
  /** False while deleted text may still be in the log of changes. */
  private isTruncated = true;
  private isClosed = false;
  /** True if a conversation has begun since `stats` was called. */
  hasNewStats = false;

  constructor(driver: DatabaseClass, options: OpenRequest) {
    this.driver = driver;
    this.options = options;
    this.identifiers = new Identifiers(options.seed);
  }

  /** Opens the file. @throws StoreFailure STORE_BROKEN, STORE_NEWER or store_unavailable. */
  open(): Requests["open"]["result"] {
    const connection = this.connect();
    const epoch = () => this.identifiers.next().slice(0, 16);
    const renewed = recover(connection, this.options, epoch);
    return { renewed, sqlite: String(connection.get("SELECT sqlite_version() AS v")?.v) };
  }

  readonly handlers: Handlers = {
    commit: (batch) => {
      try {
        this.connect();
        if (this.journal.append(batch)) this.hasNewStats = true;
      } catch (error) {
        if (!needsReopening(error)) throw error;
        this.failed(error);
        if (!this.isStored(batch)) throw error;
      }
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
      this.journal.step();
      return undefined;
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
    this.hasNewStats = false;
    const bytes = opened.number("PRAGMA page_count") * opened.number("PRAGMA page_size");
    const { count, oldestAt } = this.journal.newConversations();
    const oldest = Math.min(this.oldestAt ?? Infinity, oldestAt);
    return {
      bytes,
      conversations: this.conversations + count,
      oldestAt: oldest === Infinity ? undefined : oldest,
    };
  }

  private connect(): Connection {
    if (this.opened !== undefined) return this.opened;
    if (this.isClosed)
      throw new StoreFailure("store_unavailable", [this.options.path, "it is closed"]);
    const connection = openDatabase(this.driver, this.options);
    try {
      this.writer = new Writer(connection, this.identifiers);
      this.indexer = new Indexer(connection);
      this.journal = new Journal({
        connection,
        writer: this.writer,
        applied: (written) => this.noteWritten(written),
      });
      this.journal.drain();
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
    this.journal.drainIfRoom();
    return connection;
  }

  private load(given: Requests["load"]["given"]): Requests["load"]["result"] {
    const connection = this.connect();
    // The stream continues after its last number.
    if (this.journal.has(given)) this.journal.drain();
    return history.load(connection, given);
  }

  private noteWritten({ begun, oldestAt }: Written): void {
    this.conversations += begun;
    if (oldestAt !== undefined) this.oldestAt = Math.min(this.oldestAt ?? oldestAt, oldestAt);
  }

  /**
   * A disk may report an error although the batch is in the log of changes. Its numbers are used
   * then, so the batch counts as written if it is still there and reaches the disk now.
   */
  private isStored(batch: Uint8Array): boolean {
    const { addresses, entries, frames } = decodeBatch(batch);
    const address = addresses[entries.address[0] ?? -1];
    if (address === undefined) return false;
    try {
      const found = this.connect().get(
        "SELECT data FROM entry WHERE seq = ? AND conversation = " +
          "(SELECT id FROM conversation WHERE channel = ? AND session = ?)",
        entries.seq[0]!,
        address.channel,
        address.session,
      );
      if (found === undefined) return false;
      const isSame = Buffer.compare(found.data as Uint8Array, frames.subarray(0, entries.size[0]));
      return isSame === 0 && this.connect().truncateLog();
    } catch {
      return false; // The first error is reported.
    }
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
    if (!this.journal.drainIfRoom()) this.journal.remove(addressesOf(connection, ids));
    const count = hide(connection, ids);
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
    if (this.journal.size > 0) {
      if (isIdle || this.journal.size <= lightBytes) this.journal.step();
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
