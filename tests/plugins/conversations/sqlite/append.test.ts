import { describe, expect, test } from "vitest";
import { join } from "node:path";
import { createCapturedLog } from "../../../../kernel/testing.ts";
import { Connection, loadDriver } from "../../../../plugins/conversations/sqlite/driver.ts";
import {
  address,
  begin,
  createFolder,
  Disk,
  entry,
  epoch,
  openStore,
  say,
  StoppedTime,
  write,
  type TestEntry,
} from "../../../support/sqlite-store.ts";

const rejected = (code: string, text = "") => ({
  code,
  message: expect.stringContaining(text) as string,
});

describe("append", () => {
  test("tells writers on a full disk, and works when there is room", async () => {
    const { log, lines } = createCapturedLog();
    const disk = new Disk();
    const store = await openStore({ log, driver: disk.driver });
    await begin(store, entry("user", "u1", "hello"));
    disk.code = 13;
    const next = entry("create", "m1", "answer");
    await expect(write(store, next)).rejects.toMatchObject(
      rejected("store_unavailable", "the disk is full"),
    );
    await expect(write(store, next)).rejects.toMatchObject({ code: "store_unavailable" });
    expect(store.health()).toMatchObject({
      state: "away",
      problem: expect.stringContaining("the disk is full"),
    });
    const errors = lines.filter(({ level }) => level === "error");
    expect(errors).toMatchObject([{ sessions: ["s"] }]);
    expect(store.load(address)).toMatchObject({ seq: 1, frames: [{ seq: 1 }] });
    disk.code = undefined;
    await write(store, next);
    expect(store.health().state).toBe("up");
    expect(store.load(address)!.seq).toBe(2);
  });

  test("stores the end of an answer with its last frame", async () => {
    const folder = createFolder();
    const store = await openStore({ folder });
    await begin(store, entry("user", "u1", "hello"));
    const written = write(store, entry("create", "m1", "answer"));
    const message = "The disk is full.";
    store.noteEnd(address, "u1", { outcome: "failed", code: "internal", message, answerMs: 7 });
    await written;
    // Nothing is closed, as in a kill.
    const driver = loadDriver()!;
    const connection = new Connection(driver, join(folder, "conversations.db"));
    const rows = connection.all("SELECT request, value FROM answer");
    expect(rows.map(({ value }) => JSON.parse(String(value)) as unknown)).toMatchObject([
      { outcome: "failed", message },
    ]);
    connection.close();
  });

  test("reads messages of an earlier process without a whole answer as lost", async () => {
    const folder = createFolder();
    const first = await openStore({ folder });
    const user = (request: string): TestEntry =>
      entry("user", request, "x", { request, payload: { request_id: request } });
    const reply = entry("create", "m1", "answer", { payload: { request_id: "r1" } });
    const id = await begin(first, user("r1"));
    const rest = [reply, user("r2"), user("r3")];
    for (const each of rest) await write(first, each);
    first.noteEnd(address, "r3", { outcome: "stopped", answerMs: 1 });
    const outcomes = (store: typeof first) =>
      store.history
        .read(id)
        .items.flatMap(({ requestId, outcome }) => (requestId ? [[requestId, outcome]] : []));
    const before = outcomes(first);
    await first.end();
    const second = await openStore({ folder });
    const ended = ["r3", "stopped"];
    expect(before).toEqual([["r1", undefined], ["r2", undefined], ended]);
    expect(outcomes(second)).toEqual([["r1", undefined], ["r2", "lost"], ended]);
    second.noteEnd(address, "r2", undefined);
    expect(outcomes(second)[1]).toEqual(["r2", undefined]);
  });

  test("rejects what does not fit, and works after something was forgotten", async () => {
    const store = await openStore({ maxPages: 60 });
    const old = await say(store, "old", "x".repeat(60_000));
    await begin(store, entry("user", "u1", "hello"));
    const wide = entry("create", "m1", "y".repeat(180_000));
    await expect(write(store, wide)).rejects.toMatchObject(
      rejected("store_unavailable", "the disk is full"),
    );
    expect(store.load(address)).toMatchObject({ seq: 1 });
    await store.forget(old, () => {});
    await write(store, entry("create", "m2", "short"));
    expect(store.health().state).toBe("up");
    expect(store.load(address)!.seq).toBe(2);
  });

  test.each([
    ["BEGIN", false],
    ["COMMIT", false],
    ["COMMIT", true],
  ])("stores no entry twice after a failing %s, which ran: %s", async (sql, runsFirst) => {
    const disk = new Disk();
    const store = await openStore({ driver: disk.driver });
    const id = await begin(store, entry("user", "u1", "one"));
    Object.assign(disk, { code: 10, sql, runsFirst });
    await expect(write(store, entry("create", "m1", "two"))).rejects.toMatchObject({
      code: "store_unavailable",
    });
    disk.code = undefined;
    await write(store, entry("user", "u3", "three"));
    const contents = store.history.read(id).items.map(({ content }) => content);
    expect(contents).toEqual(runsFirst ? ["one", "two", "three"] : ["one", "three"]);
    expect(store.load(address)!.seq).toBe(runsFirst ? 3 : 2);
    expect(store.health()).toMatchObject({ conversations: 1 });
  });

  test("reports the store as available when an attempt to write succeeds", async () => {
    const clock = new StoppedTime();
    const disk = new Disk();
    const store = await openStore({ driver: disk.driver, clock });
    await begin(store, entry("user", "u1", "hello"));
    disk.code = 10;
    await write(store, entry("create", "m1", "text")).catch(() => {});
    disk.code = undefined;
    expect(store.health()).toMatchObject({
      state: "away",
      problem: expect.stringMatching("the disk reports an error"),
    });
    await clock.pass(2_000);
    expect(store.health().state).toBe("up");
  });

  test("loses nothing at a stop while the disk is full", async () => {
    const disk = new Disk();
    const { log, lines } = createCapturedLog();
    const folder = createFolder();
    const first = await openStore({ folder, log, driver: disk.driver });
    const id = await begin(first, entry("user", "u1", "hello"), entry("create", "m1", "answer"));
    disk.code = 13;
    await write(first, entry("user", "u2", "lost")).catch(() => {});
    await first.end();
    expect(lines.at(-1)).toMatchObject({ text: expect.stringContaining("at the next start") });
    const second = await openStore({ folder });
    expect(second.history.get(id)).toMatchObject({ turns: 2, title: "hello" });
    expect(second.load(address)).toMatchObject({ seq: 2, epoch });
  });

  test("counts conversations of which a batch failed once", async () => {
    const disk = new Disk();
    const store = await openStore({ driver: disk.driver, clock: new StoppedTime() });
    await begin(store, entry("user", "u1", "one"));
    Object.assign(disk, { code: 10, sql: "COMMIT" });
    const other = entry("user", "u", "lost", { session: "t" });
    await write(store, entry("user", "u2", "lost"), other).catch(() => {});
    expect(store.health()).toMatchObject({ conversations: 1 });
    disk.code = undefined;
    await write(store, entry("user", "u2", "two"), other);
    expect(store.health()).toMatchObject({ conversations: 2 });
  });

  test("tells writers if the file can be neither written nor read", async () => {
    const disk = new Disk();
    const store = await openStore({ driver: disk.driver });
    await begin(store, entry("user", "u1", "one"));
    Object.assign(disk, { code: 10, readCode: 10 });
    await expect(write(store, entry("user", "u2", "lost"))).rejects.toMatchObject({
      code: "store_unavailable",
    });
    Object.assign(disk, { code: undefined, readCode: undefined });
    await write(store, entry("user", "u2", "two"));
    expect(store.load(address)!.seq).toBe(2);
  });

  test("gathers the entries of one turn of the event loop", async () => {
    const store = await openStore();
    await begin(store, entry("user", "u1", "one"));
    const before = store.metrics.read().commits.count;
    await write(store, entry("user", "u2", "two"), entry("user", "t", "other", { session: "t" }));
    expect(store.metrics.read().commits.count).toBe(before + 1);
  });

  test("rejects after close", async () => {
    const store = await openStore();
    await store.close();
    expect(() => store.append(address, epoch, entry("user", "u", "x"), () => {})).toThrow(
      expect.objectContaining({ code: "store_unavailable" }),
    );
    expect(() => store.history.list()).toThrow(
      expect.objectContaining({ code: "store_unavailable" }),
    );
    expect(() => store.load(address)).toThrow(
      expect.objectContaining({ code: "store_unavailable" }),
    );
  });
});
