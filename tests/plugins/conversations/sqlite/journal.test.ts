// Tests the time between the storage of a batch and the writing of its rows.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { Connection } from "../../../../plugins/conversations/stores/sqlite/connection.ts";
import { loadDriver } from "../../../../plugins/conversations/stores/sqlite/driver.ts";
import { encodeBatch } from "../../../../plugins/conversations/stores/sqlite/pack.ts";
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

/** Opens a store in this thread. It may be opened again without a close, as after a kill. */
function openStore(path: string, maxPages?: number, boot = "b"): Store {
  const store = new Store(driver, { path, durability: "process", boot, seed: "s", maxPages });
  store.open();
  return store;
}

const commit = (store: Store, batch: Uint8Array): void => void store.handlers.commit(batch);

function connect(path: string): Connection {
  const connection = new Connection(driver, path);
  onTestFinished(() => connection.close());
  return connection;
}

const countOf = (path: string, table: string): number =>
  connect(path).number(`SELECT count(*) FROM ${table}`);

const encode = (entries: readonly NewEntry[], more: Partial<Batch> = {}): Uint8Array =>
  encodeBatch({ ...emptyBatch, entries, ...more });

const begun = (session: string): Batch["streams"] => [{ channel: "pico", session, epoch, seq: 0 }];

const idOf = (store: Store, session: string): string =>
  (store.handlers.find({ channel: "pico", session }) as { id: string }).id;

const contentOf = (path: string): Buffer => {
  const folder = join(path, "..");
  return Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))));
};

describe("Store.commit", () => {
  test("stores a batch as one row before its rows", () => {
    const path = createFile();
    const store = openStore(path);
    const taken = [{ ...address, id: "1", digest: "d", at: 5 }];
    const positions = [{ ...address, written: 1, plain: 1, acknowledged: 0, resumes: true }];
    const first = entry(1, "user", "u1", "hello");
    commit(store, encode([first], { streams: begun("s"), taken, positions }));
    commit(store, encode([entry(2, "create", "m1", "answer")]));
    expect(["journal", "entry", "conversation"].map((table) => countOf(path, table))).toEqual([
      2, 0, 0,
    ]);
    const next = openStore(path);
    expect(["journal", "entry", "conversation"].map((table) => countOf(path, table))).toEqual([
      0, 2, 1,
    ]);
    const loaded = next.handlers.load({ ...address, now: 6 });
    expect(loaded).toMatchObject({
      epoch,
      seq: 2,
      written: 1,
      resumes: true,
      frames: [{ seq: 1, message: "u1" }, { seq: 2 }],
      taken: [{ id: "1", digest: "d", ageMs: 1 }],
    });
    expect(next.stats()).toMatchObject({ conversations: 1, oldestAt: 1_001 });
    expect(next.handlers.search({ text: "answer", limit: 5 })).toBeInstanceOf(Promise);
  });

  test("gives streams whose batches wait a new epoch after a power failure", () => {
    const path = createFile();
    commit(openStore(path), encode([entry(1, "user", "u1")], { streams: begun("s") }));
    const next = openStore(path, undefined, "another start of the machine");
    const loaded = next.handlers.load({ ...address, now: 0 }) as { epoch: string; seq: number };
    expect(loaded.seq).toBe(1);
    expect(loaded.epoch).not.toBe(epoch);
  });

  test("rejects numbers of batches whose rows are not written", () => {
    const path = createFile();
    const store = openStore(path);
    commit(store, encode([entry(1, "user", "u1")], { streams: begun("s") }));
    expect(() => commit(store, encode([entry(1, "user", "u2")]))).toThrow("number 1");
    const again = encode([], { streams: begun("s") });
    expect(() => commit(store, again)).toThrow("below its end 1");
    expect(countOf(path, "journal")).toBe(1);
  });

  test("bounds the batches whose rows are not written", () => {
    const path = createFile();
    const store = openStore(path);
    for (let seq = 1; seq <= 40; seq++)
      commit(
        store,
        encode([entry(seq, "user", `u${seq}`, "x".repeat(MiB))], {
          streams: seq === 1 ? begun("s") : [],
        }),
      );
    const bytes = connect(path).number("SELECT sum(length(data)) FROM journal");
    expect(bytes).toBeGreaterThan(16 * MiB);
    expect(bytes).toBeLessThanOrEqual(33 * MiB);
    expect(countOf(path, "entry") + countOf(path, "journal")).toBe(40);
    expect(store.handlers.find(address)).toMatchObject({ turns: 40 });
  });
});

describe("Store.tidy", () => {
  test("writes rows of small batches, and of large ones when idle", () => {
    const path = createFile();
    const store = openStore(path);
    commit(store, encode([entry(1, "user", "u1")], { streams: begun("s") }));
    expect(store.handlers.tidy({ isIdle: false })).toBe(true);
    expect(countOf(path, "entry")).toBe(1);
    commit(store, encode([entry(2, "user", "u2", "x".repeat(MiB))]));
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
  function openSmall(path: string): Store {
    const store = openStore(path, maxPages);
    const old = entry(1, "user", "u", "0ldsecret ".repeat(6_000), { session: "0ld" });
    commit(store, encode([old], { streams: begun("0ld") }));
    expect(store.handlers.find(address)).toBeUndefined();
    return store;
  }

  test("keeps the batch, and rejects others until there is room", async () => {
    const path = createFile();
    const store = openSmall(path);
    commit(store, encode(entriesOf("s", 1, 400), { streams: begun("s") }));
    expect(() => store.handlers.load({ ...address, now: 0 })).toThrow("full");
    expect(() => commit(store, encode([entry(401, "user", "u401")]))).toThrow("full");
    expect(() => store.handlers.probe(undefined)).toThrow("full");
    expect(countOf(path, "journal")).toBe(1);
    expect(await store.handlers.forget({ ids: [idOf(store, "0ld")] })).toBe(1);
    commit(store, encode([entry(401, "user", "u401")]));
    expect(store.handlers.load({ ...address, now: 0 })).toMatchObject({ seq: 401 });
    expect(store.handlers.find(address)).toMatchObject({ turns: 401 });
  });

  test("removes a forgotten conversation from the batches", async () => {
    const path = createFile();
    const store = openSmall(path);
    const id = idOf(store, "0ld");
    const taken = [{ channel: "pico", session: "0ld", id: "0ldsecret", digest: "d", at: 1 }];
    const both = [...entriesOf("0ld", 2, 50), ...entriesOf("new", 1, 350)];
    commit(store, encode(both, { streams: begun("new"), taken }));
    commit(store, encode(entriesOf("0ld", 52, 2)));
    expect(() => store.handlers.load({ channel: "pico", session: "0ld", now: 0 })).toThrow("full");
    expect(await store.handlers.forget({ ids: [id] })).toBe(1);
    expect(contentOf(path).includes("0ld")).toBe(false);
    expect(store.handlers.tidy({ isIdle: true })).toBe(true);
    expect(store.handlers.load({ channel: "pico", session: "0ld", now: 0 })).toBeUndefined();
    expect(store.handlers.load({ channel: "pico", session: "new", now: 0 })).toMatchObject({
      seq: 350,
    });
  });
});

describe("backup", () => {
  test("contains batches whose rows are not written", () => {
    const path = createFile();
    commit(openStore(path), encode([entry(1, "user", "u1")], { streams: begun("s") }));
    const copy = join(createFolder(), "conversations.db");
    connect(path).exec(`VACUUM INTO '${copy}'`);
    expect(openStore(copy).handlers.find(address)).toMatchObject({ turns: 1 });
  });
});

describe("schema", () => {
  test("reads a database of version 2", () => {
    const path = createFile();
    const old = connect(path);
    migrate(old, migrations.slice(0, 2));
    old.exec(
      `INSERT INTO conversation(id, public_id, channel, session, epoch, seq, created_at, turns)
         VALUES (1, 'p', 'pico', 's', '${epoch}', 1, 5, 1);
       INSERT INTO entry(conversation, seq, message, op, final, at, data)
         VALUES (1, 1, 'u1', 1, 1, 5, '{"payload":{"content":"kept"}}');
       INSERT INTO taken(conversation, message, digest, at, stopped) VALUES (1, 't', 'd', 5, 1)`,
    );
    const store = openStore(path);
    commit(store, encode([entry(2, "user", "u2")]));
    expect(store.handlers.find(address)).toMatchObject({ id: "p", turns: 2 });
    expect(store.handlers.load({ ...address, now: 5 })).toMatchObject({
      taken: [{ id: "t", stopped: true }],
    });
  });
});
