// Tests the time between the storage of a batch and the writing of its rows, in one thread.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { Connection } from "../../../../plugins/conversations/stores/sqlite/connection.ts";
import { loadDriver } from "../../../../plugins/conversations/stores/sqlite/driver.ts";
import { encodeBatch, toColumns } from "../../../../plugins/conversations/stores/sqlite/pack.ts";
import {
  logFiles,
  logHeader,
  recordHeader,
  sealRecord,
} from "../../../../plugins/conversations/stores/sqlite/record.ts";
import { migrate, migrations } from "../../../../plugins/conversations/stores/sqlite/schema.ts";
import { Store } from "../../../../plugins/conversations/stores/sqlite/store.ts";
import type { Batch, NewEntry } from "../../../../plugins/conversations/stores/storage.ts";
import {
  address,
  createFolder,
  emptyBatch,
  entry,
  epoch,
} from "../../../support/sqlite-storage-harness.ts";

const driver = loadDriver()!;
const MiB = 1024 * 1024;

function createFile(): string {
  const path = join(createFolder(), "conversations.db");
  writeFileSync(path, "");
  return path;
}

interface OpenedStore extends Pick<Store, "handlers" | "stats" | "written"> {
  readonly key: string;
  readonly last: number;
  readonly hasOthers: boolean;
}

let opened = 0;

/** Opens a store in this thread. It may be opened again without a close, as after a kill. */
function openStore(path: string, maxPages?: number, boot = "b"): OpenedStore {
  const seed = String((opened += 1));
  const store = new Store(driver, { path, durability: "process", boot, seed, maxPages });
  const { key, last, hasOthers } = store.open();
  const { handlers } = store;
  return {
    handlers,
    stats: () => store.stats(),
    get written() {
      return store.written;
    },
    key,
    last,
    hasOthers,
  };
}

const encode = (entries: readonly NewEntry[], more: Partial<Batch> = {}): Uint8Array => {
  const batch = { ...emptyBatch, entries, ...more };
  return encodeBatch(batch, toColumns(batch));
};

const seal = (record: Uint8Array, number: number): Uint8Array => {
  sealRecord(record, number);
  return record;
};

/** Passes a batch to the worker as the log has stored it. */
const append = (store: OpenedStore, number: number, record: Uint8Array): void =>
  void store.handlers.append(seal(record, number));

/** Writes a file of the log, as a process leaves it that was killed. */
const leaveLog = (path: string, key: string, records: readonly Uint8Array[], at = 0): void =>
  writeFileSync(logFiles(path)[at]!, Buffer.concat([Buffer.from(logHeader(key)), ...records]));

function connect(path: string): Connection {
  const connection = new Connection(driver, path);
  onTestFinished(() => connection.close());
  return connection;
}

const countOf = (path: string, table: string): number =>
  connect(path).number(`SELECT count(*) FROM ${table}`);

const begun = (session: string): Batch["streams"] => [{ channel: "pico", session, epoch, seq: 0 }];

const idOf = (store: OpenedStore, session: string): string =>
  (store.handlers.find({ channel: "pico", session }) as { id: string }).id;

const seqOf = (store: OpenedStore, session = "s"): number | undefined =>
  (store.handlers.load({ channel: "pico", session, now: 6 }) as { seq: number } | undefined)?.seq;

describe("Store.append", () => {
  test("writes no rows before they are read", () => {
    const path = createFile();
    const store = openStore(path);
    const taken = [{ ...address, id: "1", digest: "d", at: 5 }];
    const positions = [{ ...address, written: 1, plain: 1, acknowledged: 0, resumes: true }];
    const first = entry(1, "user", "u1", "hello");
    append(store, 1, encode([first], { streams: begun("s"), taken, positions }));
    append(store, 2, encode([entry(2, "create", "m1", "answer")]));
    append(store, 2, encode([entry(2, "create", "m1", "a batch that is passed again")]));
    expect([countOf(path, "entry"), store.written]).toEqual([0, 0]);
    expect(seqOf(store, "another")).toBeUndefined();
    expect(countOf(path, "entry"), "another session needs no rows").toBe(0);
    expect(store.handlers.load({ ...address, now: 6 })).toMatchObject({
      epoch,
      seq: 2,
      written: 1,
      resumes: true,
      frames: [{ seq: 1, message: "u1" }, { seq: 2 }],
      taken: [{ id: "1", digest: "d", ageMs: 1 }],
    });
    expect([countOf(path, "entry"), store.written]).toEqual([2, 2]);
    expect(store.stats()).toMatchObject({ conversations: 1, oldestAt: 1_001 });
  });

  test("rejects a batch after a missing one", () => {
    const store = openStore(createFile());
    expect(() => append(store, 2, encode([entry(1, "user", "u1")]))).toThrow("batch 1 is missing");
  });

  test("skips a batch whose rows can never be written", () => {
    const path = createFile();
    const store = openStore(path);
    append(store, 1, encode([entry(1, "user", "u1")], { streams: begun("s") }));
    append(store, 2, encode([entry(1, "user", "a used number")]));
    append(store, 3, encode([entry(2, "user", "u2")]));
    expect(() => store.handlers.write({ all: true })).toThrow();
    expect(seqOf(store)).toBe(2);
    expect([countOf(path, "entry"), store.written]).toEqual([2, 3]);
  });
});

describe("log", () => {
  const batches = (first: number, count: number): Uint8Array[] =>
    Array.from({ length: count }, (_, at) => {
      const seq = first + at;
      const streams = seq === 1 ? begun("s") : [];
      return seal(encode([entry(seq, "user", `u${seq}`)], { streams }), seq);
    });

  test("continues in both files after a kill", () => {
    const path = createFile();
    const { key } = openStore(path);
    leaveLog(path, key, batches(4, 2), 0);
    leaveLog(path, key, batches(1, 3), 1);
    const next = openStore(path);
    expect(next).toMatchObject({ key, last: 5, hasOthers: false, written: 5 });
    const loaded = next.handlers.load({ ...address, now: 0 });
    expect(loaded).toMatchObject({ seq: 5, epoch });
    expect(openStore(path)).toMatchObject({ last: 5, hasOthers: false });
    expect(countOf(path, "entry")).toBe(5);
  });

  test("ends before a record that was cut off or damaged", () => {
    const complete = Buffer.concat(batches(1, 3));
    const third = batches(3, 1)[0]!.byteLength;
    const check = (bytes: Buffer, expected: number): void => {
      const path = createFile();
      leaveLog(path, openStore(path).key, [bytes]);
      expect(openStore(path).last).toBe(expected);
    };
    for (const left of [0, 1, recordHeader - 1, recordHeader, third - 1])
      check(complete.subarray(0, complete.byteLength - third + left), 2);
    const damaged = Buffer.from(complete);
    damaged[damaged.byteLength - 1]! ^= 1;
    check(damaged, 2);
    check(Buffer.concat([complete, Buffer.alloc(4_096)]), 3);
  });

  test("has no effect on a database that it does not follow", () => {
    const path = createFile();
    const { key } = openStore(path);
    leaveLog(path, key, batches(1, 1));
    openStore(path);
    leaveLog(path, key, batches(3, 1));
    const next = openStore(path);
    expect(next).toMatchObject({ last: 1, hasOthers: true });
    expect(next.key).not.toBe(key);
    const loaded = next.handlers.load({ ...address, now: 0 }) as { epoch: string };
    expect(loaded.epoch).not.toBe(epoch);
    leaveLog(path, key, batches(2, 1));
    expect(openStore(path)).toMatchObject({ last: 1, hasOthers: true });
  });

  test("gives its streams a new epoch after a power failure", () => {
    const path = createFile();
    leaveLog(path, openStore(path).key, batches(1, 1));
    const next = openStore(path, undefined, "another start of the machine");
    const loaded = next.handlers.load({ ...address, now: 0 }) as { epoch: string; seq: number };
    expect(loaded.seq).toBe(1);
    expect(loaded.epoch).not.toBe(epoch);
  });
});

describe("Store.tidy", () => {
  test("writes rows of small batches, and of large ones when idle", () => {
    const path = createFile();
    const store = openStore(path);
    append(store, 1, encode([entry(1, "user", "u1")], { streams: begun("s") }));
    expect(store.handlers.tidy({ isIdle: false })).toBe(true);
    expect(countOf(path, "entry")).toBe(1);
    append(store, 2, encode([entry(2, "user", "u2", "x".repeat(MiB))]));
    expect(store.handlers.tidy({ isIdle: false })).toBe(true);
    expect(countOf(path, "entry")).toBe(1);
    expect(store.handlers.tidy({ isIdle: true })).toBe(true);
    expect(countOf(path, "entry")).toBe(2);
    expect(store.handlers.tidy({ isIdle: true })).toBe(false);
  });
});

describe("Store with a full disk", () => {
  const maxPages = 90;

  /** Entries whose rows need more room than their batch, because ids are indexed. */
  const entriesOf = (session: string, first: number, count: number): NewEntry[] =>
    Array.from({ length: count }, (_, at) => {
      const message = `${session}secret${(at * 7919) % count}`.padEnd(256, ".");
      return entry(first + at, "user", message, "", { session, frame: Buffer.from("{}") });
    });

  /** A store with the conversation `0ld`, which fills some pages. */
  function openSmall(path: string): OpenedStore {
    const store = openStore(path, maxPages);
    const old = entry(1, "user", "u", "0ldsecret ".repeat(6_000), { session: "0ld" });
    append(store, 1, encode([old], { streams: begun("0ld") }));
    expect(store.handlers.find(address)).toBeUndefined();
    return store;
  }

  test("keeps the batch until there is room", async () => {
    const store = openSmall(createFile());
    append(store, 2, encode(entriesOf("s", 1, 400), { streams: begun("s") }));
    expect(() => seqOf(store)).toThrow("full");
    expect(() => store.handlers.probe(undefined)).toThrow("full");
    expect(store.written).toBe(1);
    expect(await store.handlers.forget({ ids: [idOf(store, "0ld")] })).toBe(1);
    append(store, 3, encode([entry(401, "user", "u401")]));
    expect(seqOf(store)).toBe(401);
    expect(store.handlers.find(address)).toMatchObject({ turns: 401 });
  });

  test("does not restore a forgotten conversation, also after a kill", async () => {
    const path = createFile();
    const store = openSmall(path);
    const taken = [{ channel: "pico", session: "0ld", id: "0ldsecret", digest: "d", at: 1 }];
    const both = [...entriesOf("0ld", 2, 50), ...entriesOf("new", 1, 350)];
    const records = [
      seal(encode(both, { streams: begun("new"), taken }), 2),
      seal(encode(entriesOf("0ld", 52, 2)), 3),
    ];
    leaveLog(path, store.key, records);
    void store.handlers.append(Buffer.concat(records));
    expect(() => seqOf(store, "0ld")).toThrow("full");
    expect(await store.handlers.forget({ ids: [idOf(store, "0ld")] })).toBe(1);
    const next = openStore(path, maxPages);
    expect(seqOf(next, "0ld")).toBeUndefined();
    expect(seqOf(next, "new")).toBe(350);
    append(next, 4, encode(entriesOf("0ld", 1, 1), { streams: begun("0ld") }));
    expect(seqOf(next, "0ld")).toBe(1);
  });
});

describe("schema", () => {
  test.each([2, 3])("reads a database of version %i", (version) => {
    const path = createFile();
    const old = connect(path);
    migrate(old, migrations.slice(0, version));
    old.exec(
      `INSERT INTO conversation(id, public_id, channel, session, epoch, seq, created_at, turns)
         VALUES (1, 'p', 'pico', 's', '${epoch}', 1, 5, 1);
       INSERT INTO entry(conversation, seq, message, op, final, at, data)
         VALUES (1, 1, 'u1', 1, 1, 5, '{"payload":{"content":"kept"}}');
       INSERT INTO taken(conversation, message, digest, at, stopped) VALUES (1, 't', 'd', 5, 1)`,
    );
    const batch = encode([entry(2, "user", "u2")]).subarray(recordHeader);
    if (version === 3) old.run("INSERT INTO journal(data) VALUES (?)", batch);
    const store = openStore(path);
    const seq = version === 3 ? 3 : 2;
    append(store, 1, encode([entry(seq, "user", "u3")]));
    expect(store.handlers.find(address)).toMatchObject({ id: "p", turns: seq });
    expect(store.handlers.load({ ...address, now: 5 })).toMatchObject({
      taken: [{ id: "t", stopped: true }],
    });
  });
});
