import { existsSync, copyFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { loadDriver } from "../../../../plugins/conversations/stores/sqlite/driver.ts";
import { Store } from "../../../../plugins/conversations/stores/sqlite/store.ts";
import type { ConversationStorage } from "../../../../plugins/conversations/stores/storage.ts";
import {
  address,
  begin,
  createFolder,
  entry,
  epoch,
  openStorage,
  systemClock,
  write,
} from "../../../support/sqlite-storage-harness.ts";

const name = "conversations.db";

/** A minute takes half a second. */
const fastClock = {
  ...systemClock,
  setTimeout: (run: () => void, ms: number) => setTimeout(run, ms / 120),
};

const isRunning = (storage: ConversationStorage): boolean =>
  (storage as unknown as { file: { isRunning: boolean } }).file.isRunning;

const waitForRest = (storage: ConversationStorage): Promise<void> =>
  vi.waitFor(() => expect(isRunning(storage)).toBe(false), 20_000);

/** Creates a store with one turn and closes it. @returns Its folder. */
async function createClosed(): Promise<string> {
  const path = createFolder();
  const storage = await openStorage({ path });
  await begin(storage, entry(1, "user", "u1", "hello"));
  await storage.close();
  return path;
}

describe("a file that a clean close has left", () => {
  test("starts the worker with the first request", async () => {
    const storage = await openStorage({ path: await createClosed() });
    expect(isRunning(storage)).toBe(false);
    expect(storage.health()).toMatchObject({ conversations: 1, oldestAt: 1_001, state: "up" });
    expect(storage.health().bytes).toBeGreaterThan(4_096);
    expect((await storage.list()).items).toMatchObject([{ title: "hello" }]);
    expect(isRunning(storage)).toBe(true);
  });

  test("stores a batch before the first request", async () => {
    const path = await createClosed();
    const storage = await openStorage({ path });
    await write(storage, [entry(2, "create", "m1", "answer")]);
    await storage.close();
    const next = await openStorage({ path });
    expect(await next.load(address)).toMatchObject({ seq: 2, epoch });
  });

  test("stays as it is without a request", async () => {
    const path = await createClosed();
    const unused = await openStorage({ path });
    await unused.close();
    await expect(unused.list()).rejects.toMatchObject({ code: "store_unavailable" });
    expect(isRunning(await openStorage({ path }))).toBe(false);
  });

  test("loses its record before the first batch is stored", async () => {
    const path = await createClosed();
    expect(existsSync(join(path, `${name}-closed`))).toBe(true);
    const storage = await openStorage({ path });
    await storage.load(address);
    expect(existsSync(join(path, `${name}-closed`))).toBe(false);
  });

  test("starts the worker early if a copy has replaced it", async () => {
    const path = await createClosed();
    copyFileSync(join(path, name), join(path, "copy"));
    renameSync(join(path, "copy"), join(path, name));
    const storage = await openStorage({ path });
    expect(isRunning(storage)).toBe(true);
    expect((await storage.load(address))!.epoch).not.toBe(epoch);
  });

  test("needs no worker for retention that deletes nothing", async () => {
    const storage = await openStorage({ path: await createClosed() });
    const retain = (keepDays: number, maxBytes = 1e9) =>
      storage.retain({ keepDays, maxBytes }, () => false);
    expect(await retain(0)).toBe(0);
    expect(isRunning(storage)).toBe(false);
    expect(await retain(1)).toBe(1);
  });
});

describe("a worker without requests", () => {
  test("ends, and starts again with the next request", async () => {
    const storage = await openStorage({ clock: fastClock });
    const id = await begin(storage, entry(1, "user", "u1", "one"));
    await waitForRest(storage);
    await write(storage, [entry(2, "user", "u2", "two")]);
    expect(await storage.get(id)).toMatchObject({ turns: 2 });
    expect((await storage.load(address))!.epoch).toBe(epoch);
    await waitForRest(storage);
    expect(await storage.search("two")).toHaveLength(1);
    expect(storage.health()).toMatchObject({ state: "up", conversations: 1 });
  });

  test("writes the rows of a batch without a reader", async () => {
    const path = createFolder();
    const storage = await openStorage({ path, clock: fastClock });
    await begin(storage, entry(1, "user", "u1", "one"));
    await waitForRest(storage);
    await write(storage, [entry(2, "user", "u2", "two")]);
    await vi.waitFor(() => expect(isRunning(storage)).toBe(true));
    await waitForRest(storage);
    await storage.close();
    expect(existsSync(join(path, `${name}-log1`))).toBe(false);
    expect(await (await openStorage({ path })).load(address)).toMatchObject({ seq: 2, epoch });
  });

  test("uses no other file that has taken the place of its own", async () => {
    const path = createFolder();
    const storage = await openStorage({ path, clock: fastClock });
    const id = await begin(storage, entry(1, "user", "u1", "one"));
    await waitForRest(storage);
    copyFileSync(join(path, name), join(path, "copy"));
    renameSync(join(path, "copy"), join(path, name));
    await expect(storage.read(id)).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("restart Doorward"),
    });
  });
});

describe("Store.open", () => {
  test("waits for the disk before it says that streams may grow", () => {
    const Driver = loadDriver()!;
    const modes: unknown[] = [];
    class Recorder extends Driver {
      override exec(sql: string): void {
        if (sql === "COMMIT") modes.push(this.prepare("PRAGMA synchronous").get()!["synchronous"]);
        super.exec(sql);
      }
    }
    const path = join(createFolder(), name);
    const options = { path, durability: "process", boot: "b", seed: "s", maxPages: undefined };
    copyFileSync("/dev/null", path);
    const store = new Store(Recorder, options as ConstructorParameters<typeof Store>[1]);
    store.open();
    void store.handlers.probe(undefined);
    void store.handlers.close(undefined);
    // 2: FULL.
    expect(modes.at(-1)).toBe(2);
  });
});
