import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { once } from "node:events";
import { isBuiltin } from "node:module";
import { Worker } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  findSqliteDriver,
  loadDriver,
} from "../../../../plugins/conversations/stores/sqlite/driver.ts";
import { storeErrors } from "../../../../plugins/conversations/stores/sqlite/errors.ts";
import { encodeBatch, toColumns } from "../../../../plugins/conversations/stores/sqlite/pack.ts";
import type { Reply } from "../../../../plugins/conversations/stores/sqlite/protocol.ts";
import { sealRecord } from "../../../../plugins/conversations/stores/sqlite/record.ts";
import { Store } from "../../../../plugins/conversations/stores/sqlite/store.ts";
import {
  address,
  begin,
  createFolder,
  emptyBatch,
  entry,
  epoch,
  openStorage,
  write,
} from "../../../support/sqlite-storage-harness.ts";

const folder = "plugins/conversations/stores/sqlite";
const Driver = loadDriver()!;
const diskError = () => Object.assign(new Error("disk I/O error"), { errcode: 10 });

/** A disk that reports errors for statements that begin with `sql`, before or after they run. */
class Disk {
  sql: string | undefined;
  runsFirst = false;
  readonly driver: typeof Driver;

  constructor() {
    // oxlint-disable-next-line typescript/no-this-alias
    const disk = this;
    this.driver = class extends Driver {
      override exec(sql: string): void {
        const fails = disk.sql !== undefined && sql.startsWith(disk.sql);
        if (!fails || disk.runsFirst) super.exec(sql);
        if (!fails) return;
        disk.sql = undefined;
        throw diskError();
      }
    };
  }
}

function openStore(disk: Disk): Store {
  const path = join(createFolder(), "conversations.db");
  writeFileSync(path, "");
  const options = { path, durability: "power", boot: "b", seed: "s", maxPages: undefined } as const;
  const store = new Store(disk.driver, options);
  store.open();
  onTestFinished(() => void store.handlers.close(undefined));
  return store;
}

function append(store: Store, seq: number, text: string): void {
  const batch = {
    ...emptyBatch,
    streams: seq === 1 ? [{ ...address, epoch, seq: 0 }] : [],
    entries: [entry(seq, "user", `u${seq}`, text)],
  };
  const record = encodeBatch(batch, toColumns(batch));
  sealRecord(record, seq);
  void store.handlers.append(record);
}

describe("Store.write", () => {
  test.each([
    ["BEGIN", false],
    ["COMMIT", false],
    ["COMMIT", true],
  ])("writes rows once if the disk fails at %s, stored: %s", (sql, runsFirst) => {
    const disk = new Disk();
    const store = openStore(disk);
    append(store, 1, "one");
    void store.handlers.write({ all: true });
    Object.assign(disk, { sql, runsFirst });
    append(store, 2, "two");
    const write = () => store.handlers.write({ all: true });
    expect(write).toThrow("disk I/O error");
    store.failed(diskError());
    append(store, 3, "three");
    void write();
    const { id } = store.handlers.find(address) as { id: string };
    expect(
      store.handlers.read({ id, before: undefined, after: undefined, limit: 9 }),
    ).toMatchObject({ items: [{ content: "one" }, { content: "two" }, { content: "three" }] });
    expect(store.stats()).toMatchObject({ conversations: 1 });
  });
});

describe("driver", () => {
  test("belongs to this Node, or to the package", () => {
    expect(findSqliteDriver()).toBe(
      isBuiltin("node:sqlite") ? "node:sqlite" : "@photostructure/sqlite",
    );
  });

  test.skipIf(isBuiltin("node:sqlite"))(
    "names the versions and the package if it is missing",
    async () => {
      const file = join(createFolder(), "worker.cjs");
      copyFileSync(new URL(`../../../../dist/${folder}/worker.cjs`, import.meta.url), file);
      const worker = new Worker(file);
      onTestFinished(() => void worker.terminate());
      worker.postMessage({ number: 1, name: "open", given: { path: "x" } });
      const [reply] = (await once(worker, "message")) as [Reply];
      const { code, values } = reply.failure!;
      expect(code).toBe("STORE_DRIVER_MISSING");
      expect(storeErrors.STORE_DRIVER_MISSING(values[0]!).message).toMatch(/Node 20.*Node 22.13/);
    },
  );
});

describe("worker", () => {
  test("starts again after it ended, and rejects the requests that waited", async () => {
    const storage = await openStorage();
    const id = await begin(storage, entry(1, "user", "u1", "one"));
    const { worker } = (storage as unknown as { file: { worker: { worker: Worker } } }).file.worker;
    const ended = worker.terminate();
    await expect(storage.search("one")).rejects.toMatchObject({ code: "store_unavailable" });
    await ended;
    expect(storage.health()).toMatchObject({ state: "away", problem: "its worker ended" });
    await write(storage, [entry(2, "user", "u2", "two")]);
    expect(storage.health().state).toBe("up");
    expect(await storage.get(id)).toMatchObject({ turns: 2 });
    expect((await storage.load(address))!.epoch).toBe(epoch);
  });
});
