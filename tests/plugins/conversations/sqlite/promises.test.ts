// Tests the promises of the store over silence, kills, faulty rows and other programs.
import { copyFileSync, readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createCapturedLog } from "../../../../kernel/testing.ts";
import { Connection, loadDriver } from "../../../../plugins/conversations/sqlite/driver.ts";
import { fileIn } from "../../../support/sqlite-conversations.ts";
import {
  abandon,
  address,
  begin,
  createFolder,
  entry,
  epoch,
  openStore,
  say,
  StoppedTime,
  take,
  write,
  type TestEntry,
} from "../../../support/sqlite-store.ts";

const minutes = (count: number): number => count * 60_000;
const unavailable = expect.objectContaining({ code: "store_unavailable" }) as Error;

/** Opens the file of a store as another program does. */
const openOther = (folder: string): Connection => new Connection(loadDriver()!, fileIn(folder));

describe("silence", () => {
  test.each([
    ["a clean end", false],
    ["a kill", true],
  ])("loses no conversation over three minutes and %s", async (_, isKilled) => {
    const folder = createFolder();
    const clock = new StoppedTime();
    const expected: string[] = [];
    let store = await openStore({ folder, clock });
    for (let round = 0; round < 60; round++) {
      for (const session of [`a${round}`, `b${round}`]) {
        await write(store, entry("user", "u", `text of ${session}`, { session }));
        expected.unshift(session);
      }
      await clock.pass(minutes(3));
      if (round % 7 !== 6) continue;
      await (isKilled ? abandon(store) : store.end());
      store = await openStore({ folder, clock });
    }
    const { items } = store.history.list({ limit: 200 });
    expect(items.map(({ session }) => session)).toEqual(expected);
    expect(new Set(items.map(({ id }) => id)).size).toBe(120);
    for (const { id, session } of items)
      expect(store.history.read(id).items).toMatchObject([{ content: `text of ${session}` }]);
    expect(store.history.search("text", { limit: 100 })).toHaveLength(100);
  });
});

describe("a kill after a conversation was forgotten", () => {
  test("loses no conversation that was begun since", async () => {
    const folder = createFolder();
    const clock = new StoppedTime();
    const first = await openStore({ folder, clock });
    const id = await say(first, "old", "text");
    await first.forget(id, () => {});
    await first.end();
    const second = await openStore({ folder, clock });
    await write(second, entry("user", "u", "text", { session: "new" }));
    await abandon(second);
    const third = await openStore({ folder, clock });
    expect(third.history.list().items).toMatchObject([{ session: "new" }]);
  });
});

describe("a kill after a complete answer", () => {
  const question = entry("user", "u1", "question", { request: "q1" });

  test.each<[string, TestEntry[]]>([
    ["one entry", [entry("create", "m1", "answer", { answers: "q1" })]],
    [
      "several entries",
      [
        entry("create", "m1", "ans", { final: false }),
        entry("update", "m1", "answer", { answers: "q1" }),
      ],
    ],
  ])("leaves the id of the message, answered by %s", async (_, answer) => {
    const folder = createFolder();
    const clock = new StoppedTime();
    const first = await openStore({ folder, clock });
    await write(first, question);
    for (const part of answer) await write(first, part);
    await abandon(first);
    const second = await openStore({ folder, clock });
    expect(second.knownIds(address)).toEqual([{ id: "q1", ageMs: 0 }]);
    await take(second, "q1", "digest");
    expect(second.knownIds(address)).toMatchObject([{ id: "q1", digest: "digest" }]);
  });

  test("leaves the id of a message after a late answer", async () => {
    const clock = new StoppedTime();
    const store = await openStore({ clock });
    await write(store, question, entry("user", "u2", "other", { request: "q2" }));
    await clock.pass(minutes(30));
    await write(store, entry("create", "m1", "answer", { answers: "q1" }));
    await take(store, "q2", "digest");
    await clock.pass(minutes(9));
    expect(store.knownIds(address)).toMatchObject([{ id: "q1", ageMs: minutes(9) }, { id: "q2" }]);
    await clock.pass(minutes(1));
    expect(store.knownIds(address)).toEqual([]);
  });

  test.each([400, -400])("leaves the id while the clock jumps by %d days", async (days) => {
    const folder = createFolder();
    const clock = new StoppedTime();
    const first = await openStore({ folder, clock });
    await write(first, question, entry("create", "m1", "answer", { answers: "q1" }));
    await abandon(first);
    clock.offset += minutes(1_440 * days);
    const second = await openStore({ folder, clock });
    expect(second.knownIds(address)).toMatchObject([{ id: "q1" }]);
    await write(second, entry("user", "u2", "other", { request: "q2" }));
    await take(second, "q2", "digest");
    clock.offset -= minutes(1_440 * days);
    await second.end();
    const third = await openStore({ folder, clock });
    expect(third.knownIds(address)).toMatchObject([{ id: "q1" }, { id: "q2" }]);
    await clock.pass(minutes(10));
    expect(third.knownIds(address)).toEqual([]);
  });

  test("leaves the id in the batch of the answer", async () => {
    const store = await openStore({ clock: new StoppedTime() });
    await write(store, question, entry("create", "m1", "answer", { answers: "q1" }));
    expect(store.knownIds(address)).toEqual([{ id: "q1", ageMs: 0 }]);
  });

  test("marks the id of a message without a complete answer as begun", async () => {
    const store = await openStore({ clock: new StoppedTime() });
    await write(store, question, entry("create", "m1", "ans", { final: false }));
    expect(store.knownIds(address)).toEqual([{ id: "q1", ageMs: 0, begun: true }]);
    expect(store.hasTurn(address, "q1")).toBe(true);
  });
});

describe("text that grows", () => {
  const growing = (folder: string): number => {
    const reader = openOther(folder);
    const count = reader.number("SELECT count(*) FROM growing");
    reader.close();
    return count;
  };
  const update = (text: string) => entry("update", "m1", text, { final: false });

  test("becomes an incomplete turn after a kill, at most 5 s old", async () => {
    const folder = createFolder();
    const clock = new StoppedTime();
    const first = await openStore({ folder, clock });
    const id = await begin(
      first,
      entry("user", "u1", "?"),
      entry("create", "m1", "", { final: false }),
    );
    first.grow(address, "m1", () => update("one").frame);
    await clock.pass(4_900);
    expect(growing(folder)).toBe(0);
    first.grow(address, "m1", () => update("one two").frame);
    await clock.pass(100);
    first.grow(address, "m1", () => update("one two three").frame);
    await clock.pass(5_000);
    expect(growing(folder)).toBe(1);
    await abandon(first);
    const second = await openStore({ folder, clock });
    expect(second.history.read(id).items).toMatchObject([
      { content: "?" },
      { content: "one two three", complete: false },
    ]);
    const { frames, seq } = second.load(address)!;
    expect([seq, frames.length]).toEqual([2, 2]);
    expect(Buffer.concat(frames.map(({ frame }) => frame)).includes("three")).toBe(false);
    await write(second, entry("update", "m1", "all of it"));
    expect(growing(folder)).toBe(0);
    expect(second.history.read(id).items[1]).toMatchObject({ content: "all of it", seq: 2 });
    expect(second.history.read(id).items[1]).not.toHaveProperty("complete");
  });

  test.each(["update", "delete"] as const)("goes with the %s that ends it", async (kind) => {
    const folder = createFolder();
    const clock = new StoppedTime();
    const store = await openStore({ folder, clock });
    await begin(store, entry("create", "m1", "", { final: false }));
    store.grow(address, "m1", () => update("one").frame);
    await clock.pass(5_000);
    store.grow(address, "m1", () => update("late").frame);
    await write(store, entry(kind, "m1", "end"));
    await clock.pass(5_000);
    expect(growing(folder)).toBe(0);
  });
});

describe("a row that fails", () => {
  test("refuses its session by name, and no other", async () => {
    const folder = createFolder();
    const { log, lines } = createCapturedLog();
    const store = await openStore({ folder, log });
    const id = await begin(store, entry("user", "u1", "one"));
    const t = await say(store, "t", "one");
    const other = openOther(folder);
    other.exec(
      "INSERT INTO entry(id, conversation, seq, at, kind, final, frame) " +
        "SELECT 1000000, id, 2, 0, 0, 1, x'7b7d' FROM conversation WHERE session = 's'",
    );
    other.close();
    const outcomes = await Promise.allSettled([
      write(store, entry("user", "u2", "refused")),
      write(store, entry("user", "u2", "stored", { session: "t" })),
      write(store, entry("user", "u1", "new", { session: "x" })),
      write(store, entry("user", "u3", "refused, too")),
    ]);
    expect(outcomes).toMatchObject([
      { status: "rejected", reason: { code: "store_unavailable" } },
      { status: "fulfilled" },
      { status: "fulfilled" },
      { status: "rejected", reason: { code: "store_unavailable" } },
    ]);
    expect(lines.filter(({ level }) => level === "error")).toMatchObject([
      { channel: "pico", session: "s" },
    ]);
    expect(store.history.read(t).items.map(({ content }) => content)).toEqual(["one", "stored"]);
    expect(store.health()).toMatchObject({ state: "up", conversations: 3 });
    await write(store, entry("user", "u2", "again"));
    expect(store.history.read(id).items.map(({ content }) => content)).toEqual(["one", "again"]);
  });

  test("stores no earlier write of its session in the same batch", async () => {
    const folder = createFolder();
    const store = await openStore({ folder });
    const id = await begin(store, entry("user", "u1", "one"));
    const other = openOther(folder);
    other.exec(
      "INSERT INTO entry(id, conversation, seq, at, kind, final, frame) " +
        "SELECT 1000000, id, 3, 0, 0, 1, x'7b7d' FROM conversation",
    );
    other.close();
    const outcomes = await Promise.allSettled([
      write(store, entry("user", "u2", "two", { request: "r2" })),
      write(store, entry("create", "m2", "answer", { answers: "r2" })),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(store.history.read(id).items.map(({ content }) => content)).toEqual(["one"]);
    expect(store.knownIds(address)).toEqual([]);
  });
});

describe("a store whose file another program uses", () => {
  test("fails no message while it is locked for 500 ms", async () => {
    const folder = createFolder();
    const clock = new StoppedTime();
    const store = await openStore({ folder, clock });
    await say(store, "s", "one");
    const other = openOther(folder);
    other.exec("BEGIN IMMEDIATE");
    const first = write(store, entry("user", "u2", "two"));
    for (let ms = 0; ms < 500; ms += 10) await clock.pass(10);
    const second = write(store, entry("user", "u3", "three"));
    expect(store.load(address)!.seq).toBe(1);
    other.exec("COMMIT");
    other.close();
    await clock.pass(10);
    await Promise.all([first, second]);
    expect(store.load(address)!.seq).toBe(3);
    expect(store.health().state).toBe("up");
  });

  test("names the lock after 2 s", async () => {
    const folder = createFolder();
    const clock = new StoppedTime();
    const store = await openStore({ folder, clock });
    await say(store, "s", "one");
    const other = openOther(folder);
    other.exec("BEGIN IMMEDIATE");
    const failed = expect(write(store, entry("user", "u2", "two"))).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("another process holds a lock"),
    });
    for (let ms = 0; ms < 2_100; ms += 10) await clock.pass(10);
    await failed;
    other.exec("COMMIT");
    other.close();
    await write(store, entry("user", "u2", "two"));
    expect(store.load(address)!.seq).toBe(2);
  });

  test("has a short log after a long read", async () => {
    const folder = createFolder();
    const store = await openStore({ folder, clock: new StoppedTime() });
    await say(store, "s", "one");
    const other = openOther(folder);
    other.exec("BEGIN");
    other.all("SELECT * FROM entry");
    const large = (at: number) => entry("create", `m${at}`, "x".repeat(500_000));
    for (let at = 0; at < 90; at++) await write(store, large(at));
    const wal = (): number => statSync(`${fileIn(folder)}-wal`).size;
    expect(wal()).toBeGreaterThan(40 * 1024 * 1024);
    other.exec("COMMIT");
    other.close();
    for (let at = 90; at < 93; at++) await write(store, large(at));
    expect(wal()).toBeLessThanOrEqual(32 * 1024 * 1024);
    expect(store.load(address)!.seq).toBe(94);
  });

  test("writes nothing to a file that has replaced its own", async () => {
    const folder = createFolder();
    const clock = new StoppedTime();
    const store = await openStore({ folder, clock });
    const id = await say(store, "s", "one");
    await clock.pass(1_000);
    const copy = join(folder, "copy");
    copyFileSync(fileIn(folder), copy);
    const before = readFileSync(copy);
    renameSync(copy, fileIn(folder));
    const reason = {
      code: "store_unavailable",
      message: expect.stringContaining("restart Doorward"),
    };
    await expect(write(store, entry("user", "u2", "two"))).rejects.toMatchObject(reason);
    await expect(store.rename(id, "new")).rejects.toMatchObject(reason);
    await expect(store.forget(id, () => {})).rejects.toMatchObject(reason);
    await clock.pass(minutes(1));
    expect(store.health()).toMatchObject({ state: "away" });
    expect(readFileSync(fileIn(folder)).equals(before)).toBe(true);
    await store.end();
    expect(readFileSync(fileIn(folder)).equals(before)).toBe(true);
  });
});

describe("store.max_mb", () => {
  /** A store that is full, and the sessions of it that were deleted. */
  async function full() {
    const limits = { keepDays: 0, maxBytes: 2_000_000 };
    const clock = new StoppedTime();
    const asked: boolean[] = [];
    const overfull = (isRejected: boolean): void => void asked.push(isRejected);
    const store = await openStore({ clock, limits: () => limits, overfull });
    for (let at = 0; at < 25; at++) await say(store, `s${at}`, "x".repeat(105_000));
    await clock.pass(1_000);
    const events: string[] = [];
    const withClients = (hasClient: (session: string) => boolean) => ({
      hasClient: ({ session }: { session: string }) => hasClient(session),
      ending: ({ session }: { session: string }) => {
        events.push(`ending ${session}`);
        return () => void events.push(`ended ${session}`);
      },
      renew: ({ session }: { session: string }) => void events.push(`renewed ${session}`),
    });
    return { store, limits, asked, events, withClients };
  }

  test("makes room among recent sessions without a client", async () => {
    const { store, limits, events, withClients } = await full();
    const recent = withClients((session) => session === "s0");
    expect(await store.retain(limits, () => true, recent)).toBeGreaterThan(0);
    expect(() => store.assertRoom()).not.toThrow();
    const left = store.history.list({ limit: 200 }).items.map(({ session }) => session);
    expect(left).toEqual(expect.arrayContaining(["s0", "s24"]));
    expect(left).not.toContain("s1");
    expect(events.indexOf("ending s1")).toBeLessThan(events.indexOf("renewed s1"));
    expect(events.indexOf("renewed s1")).toBeLessThan(events.indexOf("ended s1"));
    expect(events).not.toContain("ending s0");
  });

  test("asks for room with each rejected message", async () => {
    const { store, limits, asked, events, withClients } = await full();
    expect(
      await store.retain(
        limits,
        () => true,
        withClients(() => true),
      ),
    ).toBe(0);
    asked.length = 0;
    expect(() => store.assertRoom()).toThrow("store.max_mb");
    expect([asked, events]).toEqual([[true], []]);
  });

  test("rejects new messages a tenth above it while everything is in use", async () => {
    const limits = { keepDays: 0, maxBytes: 2_000_000 };
    const clock = new StoppedTime();
    let calls = 0;
    const overfull = (): void => void (calls += 1);
    const store = await openStore({ clock, limits: () => limits, overfull });
    for (let at = 0; at < 8; at++) await say(store, `s${at}`, "x".repeat(105_000));
    await clock.pass(1_000);
    expect(calls).toBe(0);
    for (let at = 8; at < 25; at++) await say(store, `s${at}`, "x".repeat(105_000));
    await clock.pass(1_000);
    expect(calls).toBeGreaterThan(0);
    expect(await store.retain(limits, () => true)).toBe(0);
    expect(() => store.assertRoom()).toThrow(unavailable);
    expect(() => store.assertRoom()).toThrow("store.max_mb");
    expect(await store.retain(limits, () => false)).toBeGreaterThan(0);
    expect(() => store.assertRoom()).not.toThrow();
    const left = store.history.list({ limit: 200 }).items.map(({ session }) => session);
    expect(left[0]).toBe("s24");
    expect(store.load({ channel: "pico", session: "s24" })).toMatchObject({ epoch });
  });
});
