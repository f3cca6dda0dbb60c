import fs from "node:fs";
import { expect, describe, onTestFinished, test, vi } from "vitest";
import { randomBytes } from "node:crypto";
import { createCapturedLog } from "../../../../kernel/testing.ts";
import { Connection, loadDriver } from "../../../../plugins/conversations/sqlite/driver.ts";
import { fileIn, settle } from "../../../support/sqlite-conversations.ts";
import { address, createFolder, entry, epoch, StoppedTime } from "../../../support/sqlite-store.ts";

/** Opens a store for `power` whose syncs end when the test says so. */
async function openHeld() {
  type Callback = (error: NodeJS.ErrnoException | null) => void;
  const syncs: Callback[] = [];
  const spy = vi.spyOn(fs, "fdatasync").mockImplementation((_: number, done: Callback) => {
    syncs.push(done);
  });
  vi.resetModules();
  const { openSqliteStore } = await import("../../../../plugins/conversations/sqlite/index.ts");
  const folder = createFolder();
  const { store, release } = await openSqliteStore({
    path: fileIn(folder),
    durability: "power",
    clock: new StoppedTime(),
    log: createCapturedLog().log,
    random: (bytes) => randomBytes(bytes),
  });
  onTestFinished(async () => {
    spy.mockRestore();
    await store.close();
    await release();
  });
  const outcomes: unknown[] = [];
  const append = (text: string): void =>
    store.append(address, epoch, entry("user", text, text), (error) =>
      outcomes.push(error ?? text),
    );
  const stored = (): number => {
    const reader = new Connection(loadDriver()!, fileIn(folder));
    const count = reader.number("SELECT count(*) FROM entry");
    reader.close();
    return count;
  };
  const sync = async (error: Error | null = null): Promise<void> => {
    syncs.shift()!(error);
    await settle();
  };
  return { append, outcomes, stored, syncs, sync };
}

describe("durability power", () => {
  test("tells outcomes after the sync, while the next batch gathers", async () => {
    const { append, outcomes, stored, syncs, sync } = await openHeld();
    append("one");
    await settle();
    expect([stored(), syncs.length, outcomes]).toEqual([1, 1, []]);
    append("two");
    await settle();
    append("three");
    await settle();
    expect([stored(), syncs.length, outcomes]).toEqual([1, 1, []]);
    await sync();
    expect([stored(), syncs.length, outcomes]).toEqual([3, 1, ["one"]]);
    await sync();
    expect(outcomes).toEqual(["one", "two", "three"]);
  });
});
