// Opens SQLite stores in temporary folders on a disk that can fail, and closes them after the test.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { SimulatedClock } from "xstate";
import type { Clock } from "../../kernel/index.ts";
import { createCapturedLog } from "../../kernel/testing.ts";
import type { Address } from "../../plugins/channels/index.ts";
import { loadDriver, type DatabaseClass } from "../../plugins/conversations/sqlite/driver.ts";
import {
  openSqliteStore,
  type OpenSqliteOptions,
} from "../../plugins/conversations/sqlite/index.ts";
import type { NewEntry, SqliteStore } from "../../plugins/conversations/sqlite/store.ts";

/** Creates a folder that is removed after the test. */
export function createFolder(): string {
  const path = mkdtempSync(join(tmpdir(), "doorward-store-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A clock whose time of day can be set; durations and timers are real. */
export class SettableClock implements Clock {
  /** Unix milliseconds; undefined for the real time. */
  at: number | undefined;
  now = (): number => this.at ?? Date.now();
  monotonic = (): number => performance.now();
  setTimeout = (run: () => void, ms: number): unknown => setTimeout(run, ms);
  clearTimeout = (id: unknown): void => clearTimeout(id as NodeJS.Timeout);
}

/** A clock that only `pass` moves. The time of day can be wrong by any amount. */
export class StoppedTime implements Clock {
  /** The time of day when nothing has passed, in Unix milliseconds. */
  offset: number;
  private readonly clock = new SimulatedClock();

  constructor(offset = Date.UTC(2026, 5, 1)) {
    this.offset = offset;
  }

  now = (): number => this.offset + this.clock.now();
  monotonic = (): number => this.clock.now();
  setTimeout = (run: () => void, ms: number): unknown => this.clock.setTimeout(run, ms);
  clearTimeout = (id: unknown): void => this.clock.clearTimeout(id as number);

  /** Lets time pass: first for what follows a message, then the rest in one step. */
  async pass(ms: number): Promise<void> {
    let left = ms;
    for (const step of [250, 10, 10, 10, 10, Infinity]) {
      const part = Math.min(step, left);
      if (part <= 0) return;
      this.clock.increment(part);
      left -= part;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** The machine sleeps: the time of day moves, and durations do not. */
  suspend(ms: number): void {
    this.offset += ms;
  }
}

const Driver = loadDriver()!;

const failure = (errcode: number): Error => Object.assign(new Error("failure"), { errcode });

/** A disk whose transactions fail with a result code of SQLite while one is set. */
export class Disk {
  /** 5: locked, 10: error, 13: full. */
  code: number | undefined;
  /** While it is set, statements that read one row or many fail with it. */
  readCode: number | undefined;
  /** Only statements that begin with this fail. */
  sql = "BEGIN";
  /** The statement runs before it fails. */
  runsFirst = false;
  readonly driver: DatabaseClass;

  constructor() {
    // oxlint-disable-next-line typescript/no-this-alias
    const disk = this;
    this.driver = class extends Driver {
      override exec(sql: string): void {
        const fails = disk.code !== undefined && sql.startsWith(disk.sql);
        if (!fails || disk.runsFirst) super.exec(sql);
        if (fails) throw failure(disk.code!);
      }

      override prepare(sql: string): ReturnType<InstanceType<DatabaseClass>["prepare"]> {
        const statement = super.prepare(sql);
        const failing =
          <A extends unknown[], R>(run: (...values: A) => R) =>
          (...values: A): R => {
            if (disk.readCode !== undefined) throw failure(disk.readCode);
            return run.apply(statement, values);
          };
        return {
          run: (...values) => statement.run(...values),
          get: failing(statement.get),
          all: failing(statement.all),
        };
      }
    };
  }
}

interface StoreOptions extends Partial<OpenSqliteOptions> {
  /** The folder of the file. */
  readonly folder?: string;
}

const clocks = new WeakMap<SqliteStore, SettableClock>();

/** Opens a store, by default in a new folder. It is closed after the test. */
export async function openStore({ folder, ...options }: StoreOptions = {}): Promise<
  SqliteStore & { end(): Promise<void> }
> {
  const clock = options.clock ?? new SettableClock();
  const { store, release } = await openSqliteStore({
    path: join(folder ?? createFolder(), "conversations.db"),
    clock,
    log: createCapturedLog().log,
    random: (bytes) => randomBytes(bytes),
    lockWaitMs: 0,
    ...options,
  });
  if (clock instanceof SettableClock) clocks.set(store, clock);
  const end = async (): Promise<void> => {
    await store.close();
    await release();
  };
  onTestFinished(() => end().catch(() => {}));
  return Object.assign(store, { end });
}

/** Leaves the file as a killed process does: nothing more is written, and the lock is free. */
export async function abandon(store: SqliteStore & { end(): Promise<void> }): Promise<void> {
  const { timers, options } = store as unknown as {
    readonly timers: Record<string, unknown>;
    readonly options: { readonly clock: Clock };
  };
  for (const timer of Object.values(timers)) options.clock.clearTimeout(timer);
  Object.assign(store, { isClosed: true });
  await store.end();
}

export const address: Address = { channel: "pico", session: "s" };
export const epoch = "0123456789abcdef";

/** An entry of a test, with its session and time. */
export interface TestEntry extends NewEntry, Address {
  readonly kind: "user" | "create" | "update" | "delete" | "other";
  readonly final: boolean;
  readonly at: number;
}

/** Creates an entry whose frame has the form of a Pico server frame. */
export function entry(
  kind: TestEntry["kind"],
  message: string | undefined,
  content = "",
  more: Partial<TestEntry> & { readonly payload?: object } = {},
): TestEntry {
  const { payload, ...rest } = more;
  const frame = { type: `message.${kind}`, payload: { message_id: message, content, ...payload } };
  return {
    ...address,
    kind,
    type: kind === "other" ? undefined : `message.${kind}`,
    message: kind === "user" ? undefined : message,
    final: true,
    at: 1_000,
    frame: new TextEncoder().encode(JSON.stringify(frame)),
    ...rest,
  };
}

const settled = (write: (done: (error?: unknown) => void) => void): Promise<void> =>
  new Promise((resolve, reject) =>
    write((error) => (error === undefined ? resolve() : reject(error as Error))),
  );

/** Appends entries in one batch; at their own times if the test has given no clock. */
export async function write(store: SqliteStore, ...entries: readonly TestEntry[]): Promise<void> {
  const clock = clocks.get(store);
  const writes = entries.map((one) => {
    if (clock) clock.at = one.at;
    return settled((done) => store.append(one, epoch, one, done));
  });
  try {
    await Promise.all(writes);
  } finally {
    if (clock) clock.at = undefined;
  }
}

/** Records that the application accepted a message, or that a client stopped it. */
export const take = (
  store: SqliteStore,
  id: string,
  digest: string,
  { isStopped = false, session = "s", channel = "pico" } = {},
): Promise<void> =>
  settled((done) => store.settle({ channel, session }, id, digest, isStopped, done));

/** Begins the session `s` with these entries. @returns The id of its conversation. */
export async function begin(store: SqliteStore, ...entries: readonly TestEntry[]): Promise<string> {
  await write(store, ...entries);
  return store.history.find(entries[0]!)!.id;
}

/** Begins a session with one turn. @returns The id of its conversation. */
export const say = (
  store: SqliteStore,
  session: string,
  text: string,
  at = 1_000,
): Promise<string> => begin(store, entry("user", "u", text, { session, at }));

/** Resolves when the index for search is complete, and deleted entries are gone. */
export async function settleUpkeep(store: SqliteStore): Promise<void> {
  while (store.isBusy()) await new Promise((resolve) => setTimeout(resolve, 5));
}
