import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Connection, loadDriver } from "../../../../plugins/conversations/sqlite/driver.ts";
import { createHistory, openConversations } from "../../../support/sqlite-conversations.ts";
import {
  address,
  begin,
  createFolder,
  entry,
  openStore,
  say,
  settleUpkeep,
  StoppedTime,
  write,
  type TestEntry,
} from "../../../support/sqlite-store.ts";

const name = "conversations.db";

/** Bytes of all files in a folder. */
const contentOf = (folder: string): Buffer =>
  Buffer.concat(readdirSync(folder).map((file) => readFileSync(join(folder, file))));

describe("forget", () => {
  test.each([150, 900])("leaves no byte of %d entries in the folder", async (count) => {
    const folder = createFolder();
    const store = await openStore({ folder });
    const secret = (at: number) => `s3cretword${String.fromCharCode(97 + (at % 26))} sentence`;
    const entries: TestEntry[] = [entry("user", "sEcretid", "s3cretword title")];
    for (let at = 2; at < count; at++)
      entries.push(entry("create", `m${at}`, `${secret(at)} ${"é".repeat(at)}`));
    entries.push(entry("update", "m7", "s3cretword again"), entry("delete", "m8"));
    const id = await begin(store, ...entries);
    await say(store, "kept", "a different text");
    await settleUpkeep(store);
    await write(store, entry("create", "late", "s3cretword not indexed"));
    await write(store, entry("create", "growing", "s3cretword", { final: false }));
    store.grow(address, "growing", () => entry("update", "growing", "s3cretword grows").frame);
    const suggestions = ["s3cretword next"];
    store.noteEnd(address, "sEcretid", { outcome: "completed", answerMs: 1, suggestions });
    store.history.list();
    store.noteEnd(address, "late", { outcome: "completed", answerMs: 1, suggestions });
    const has = (text: string) => contentOf(folder).includes(text);
    expect(["s3cretword", "s3cretid", "sEcretid", "different"].map(has)).toEqual([
      true,
      false,
      true,
      true,
    ]);
    await store.forget(id, () => {});
    expect(["s3cretword", "cretword", "sEcretid", "different"].map(has)).toEqual([
      false,
      false,
      false,
      true,
    ]);
    expect(store.history.search("different")).toHaveLength(1);
    expect(store.history.search("s3cretword")).toEqual([]);
    await store.end();
    const connection = new Connection(loadDriver()!, join(folder, name));
    connection.exec("INSERT INTO words(words, rank) VALUES ('integrity-check', 1)");
    expect(connection.all("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
    connection.close();
  });
});

describe("forget of a large conversation", () => {
  async function begun() {
    const folder = createFolder();
    const store = await openStore({ folder });
    const entries = [entry("user", "u", "s3cretword title")];
    for (let at = 2; at < 900; at++) entries.push(entry("create", `m${at}`, `s3cretword ${at}`));
    const id = await begin(store, ...entries);
    await say(store, "kept", "a different text");
    await settleUpkeep(store);
    const hidden = new Promise<void>((resolve) => {
      store.forget(id, resolve).catch(() => undefined);
    });
    await hidden;
    return { folder, store };
  }

  test("continues after a restart", async () => {
    const { folder, store } = await begun();
    expect(contentOf(folder).includes("cretword")).toBe(true);
    await store.end();
    const second = await openStore({ folder });
    expect(second.health().removing).toBe(1);
    await settleUpkeep(second);
    expect(second.health().removing).toBeUndefined();
    await second.end();
    expect(contentOf(folder).includes("cretword")).toBe(false);
    expect(contentOf(folder).includes("different")).toBe(true);
  });

  test("deletes words securely again afterwards", async () => {
    const { folder, store } = await begun();
    await expect.poll(() => store.health().removing).toBeUndefined();
    const id = await begin(store, entry("user", "u2", "an0therword"));
    await settleUpkeep(store);
    await store.forget(id, () => {});
    expect(contentOf(folder).includes("an0therword")).toBe(false);
  });
});

/** Moves the log of SQLite into the file, so that the file has its real size. */
function checkpoint(path: string): void {
  const connection = new Connection(loadDriver()!, path);
  connection.get("PRAGMA wal_checkpoint(TRUNCATE)");
  connection.close();
}

describe("retain", () => {
  const day = 86_400_000;
  const noneLive = () => false;

  test("deletes conversations that are too old, except live ones", async () => {
    const clock = new StoppedTime();
    const store = await openStore({ clock });
    for (const [session, days] of Object.entries({ a: 8, d: 1, b: 2, c: 89 })) {
      await say(store, session, "text");
      await clock.pass(days * day);
    }
    const limits = { keepDays: 90, maxBytes: 1e9 };
    expect(await store.retain(limits, ({ session }) => session === "d")).toBe(2);
    const { items } = store.history.list();
    expect(items.map(({ session }) => session)).toEqual(["c", "d"]);
    await clock.pass(100 * day);
    expect(await store.retain({ ...limits, keepDays: 0 }, noneLive)).toBe(0);
  });

  test("deletes the least recently used conversations that do not fit", async () => {
    const folder = createFolder();
    const store = await openStore({ folder });
    for (let at = 0; at < 60; at++) await say(store, `s${at}`, `${at} `.repeat(10_000));
    await settleUpkeep(store);
    const maxBytes = 1_000_000;
    expect(store.health().bytes).toBeGreaterThan(maxBytes);
    const deleted = await store.retain(
      { keepDays: 0, maxBytes },
      ({ session }) => session === "s0",
    );
    const { items } = store.history.list({ limit: 200 });
    expect(items).toHaveLength(60 - deleted);
    expect(store.health()).toMatchObject({ conversations: 60 - deleted });
    const left = items.map(({ session }) => session);
    expect(left).toContain("s0");
    expect(left.slice(0, -1)).toEqual(
      Array.from({ length: left.length - 1 }, (_, at) => `s${59 - at}`),
    );
    expect(deleted).toBeLessThan(55);
    await expect
      .poll(() => {
        checkpoint(join(folder, name));
        return statSync(join(folder, name)).size;
      })
      .toBeLessThanOrEqual(maxBytes + 50 * 4_096);
  });
});

describe("backup", () => {
  test("restores a copy that VACUUM INTO made while the store was open", async () => {
    const folder = createFolder();
    const store = await openStore({ folder });
    const id = await begin(store, entry("user", "u1", "hello"));
    await settleUpkeep(store);
    const before = store.load(address);
    const copy = join(folder, "backup.db");
    const reader = new Connection(loadDriver()!, join(folder, name));
    reader.exec(`VACUUM INTO '${copy}'`);
    reader.close();
    await write(store, entry("user", "u2", "later"));
    await store.end();
    const restored = createFolder();
    mkdirSync(join(restored, "state"));
    copyFileSync(copy, join(restored, "state", name));
    const second = await openStore({ folder: join(restored, "state") });
    expect(second.history.read(id)).toMatchObject({ items: [{ content: "hello" }] });
    expect(second.history.search("hello")).toHaveLength(1);
    const after = second.load(address)!;
    expect(after.seq).toBe(before!.seq);
    expect(after.epoch, "clients may have received later numbers").not.toBe(before!.epoch);
  });
});

describe("export", () => {
  test("writes a JSON document and a Markdown document", async () => {
    const folder = await createHistory(
      entry("user", "u1", "Is *this* it?"),
      entry("create", "m1", "A test.", { final: false, at: 2_000 }),
    );
    const { conversations } = await openConversations(folder);
    const { id } = (await conversations.find(address))!;
    const textOf = async (format: "json" | "markdown") => {
      let text = "";
      for await (const part of conversations.export(id, format)) text += part;
      return text;
    };
    const { items: turns } = await conversations.read(id);
    expect(JSON.parse(await textOf("json"))).toEqual({
      conversation: await conversations.get(id),
      turns,
    });
    expect(await textOf("markdown")).toBe(
      [
        "# Is this it?\n\nChannel pico, session s\n",
        "## User, 1970-01-01T00:00:01.000Z\n\nIs *this* it?\n",
        "## Assistant, 1970-01-01T00:00:02.000Z\n\nA test.\n\n(incomplete)\n",
      ].join("\n"),
    );
    await conversations.close();
  });

  test("reads long conversations page by page", async () => {
    const entries = Array.from({ length: 250 }, (_, at) => entry("user", `u${at}`, "text"));
    const { conversations } = await openConversations(await createHistory(...entries));
    const { id } = (await conversations.find(address))!;
    let parts = 0;
    for await (const part of conversations.export(id, "json")) if (part.includes('"role"')) parts++;
    expect(parts).toBe(250);
    await conversations.close();
  });
});
