import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Connection } from "../../../../plugins/conversations/stores/sqlite/connection.ts";
import { loadDriver } from "../../../../plugins/conversations/stores/sqlite/driver.ts";
import type { NewEntry } from "../../../../plugins/conversations/stores/storage.ts";
import {
  address,
  begin,
  createFolder,
  entry,
  openStorage,
  say,
  write,
} from "../../../support/sqlite-storage-harness.ts";

const name = "conversations.db";

/** Bytes of all files in a folder. */
const contentOf = (path: string): Buffer =>
  Buffer.concat(readdirSync(path).map((file) => readFileSync(join(path, file))));

describe("forget", () => {
  test("leaves no byte of the conversation in the folder", async () => {
    const path = createFolder();
    const storage = await openStorage({ path });
    const secret = (at: number) => `s3cretword${String.fromCharCode(97 + (at % 26))} sentence`;
    const entries: NewEntry[] = [entry(1, "user", "sEcretid", "s3cretword title")];
    for (let at = 2; at < 900; at++)
      entries.push(entry(at, "create", `m${at}`, `${secret(at)} ${"é".repeat(at)}`));
    entries.push(entry(900, "update", "m7", "s3cretword again"), entry(901, "delete", "m8"));
    const id = await begin(storage, ...entries);
    await say(storage, "kept", "a different text");
    await storage.search("s3cretword");
    await write(storage, [entry(902, "create", "late", "s3cretword not indexed")]);
    const has = (text: string) => contentOf(path).includes(text);
    expect(["s3cretword", "s3cretid", "sEcretid", "different"].map(has)).toEqual([
      true,
      false,
      true,
      true,
    ]);
    await storage.forget(id);
    expect(["s3cretword", "cretword", "sEcretid", "different"].map(has)).toEqual([
      false,
      false,
      false,
      true,
    ]);
    expect(await storage.search("different")).toHaveLength(1);
    expect(await storage.search("s3cretword")).toEqual([]);
    await storage.close();
    const connection = new Connection(loadDriver()!, join(path, name));
    connection.exec("INSERT INTO words(words, rank) VALUES ('integrity-check', 1)");
    expect(connection.all("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
    connection.close();
  });
});

describe("retain", () => {
  const day = 86_400_000;
  const noneLive = () => false;

  test("deletes conversations that are too old, except live ones", async () => {
    const now = Date.now();
    const storage = await openStorage();
    for (const [session, age] of Object.entries({ a: 100, b: 91, c: 89, d: 100 }))
      await say(storage, session, "text", now - age * day);
    const limits = { keepDays: 90, maxBytes: 1e9 };
    expect(await storage.retain(limits, ({ session }) => session === "d")).toBe(2);
    const { items } = await storage.list();
    expect(items.map(({ session }) => session).toSorted()).toEqual(["c", "d"]);
    expect(await storage.retain({ ...limits, keepDays: 0 }, noneLive)).toBe(0);
  });

  test("deletes the least recently used conversations that do not fit", async () => {
    const path = createFolder();
    const storage = await openStorage({ path });
    for (let at = 0; at < 60; at++)
      await say(storage, `s${at}`, `${at} `.repeat(10_000), 1_000 + at);
    const maxBytes = 1_000_000;
    expect(storage.health().bytes).toBeGreaterThan(maxBytes);
    const deleted = await storage.retain(
      { keepDays: 0, maxBytes },
      ({ session }) => session === "s0",
    );
    const { items } = await storage.list({ limit: 200 });
    expect(items).toHaveLength(60 - deleted);
    const left = items.map(({ session }) => session);
    expect(left).toContain("s0");
    expect(left.slice(0, -1)).toEqual(
      Array.from({ length: left.length - 1 }, (_, at) => `s${59 - at}`),
    );
    expect(statSync(join(path, name)).size).toBeLessThanOrEqual(maxBytes);
    expect(deleted).toBeLessThan(50);
  });
});

describe("backup", () => {
  test("restores a copy that VACUUM INTO made while the store was open", async () => {
    const path = createFolder();
    const storage = await openStorage({ path });
    const id = await begin(storage, entry(1, "user", "u1", "hello"));
    const before = await storage.load(address);
    const copy = join(path, "backup.db");
    const reader = new Connection(loadDriver()!, join(path, name));
    reader.exec(`VACUUM INTO '${copy}'`);
    reader.close();
    await write(storage, [entry(2, "user", "u2", "later")]);
    await storage.close();
    const restored = createFolder();
    mkdirSync(join(restored, "state"));
    copyFileSync(copy, join(restored, "state", name));
    const second = await openStorage({ path: join(restored, "state") });
    expect(await second.read(id)).toMatchObject({ items: [{ content: "hello" }] });
    expect(await second.search("hello")).toHaveLength(1);
    const after = (await second.load(address))!;
    expect(after.seq).toBe(before!.seq);
    expect(after.epoch, "clients may have received later numbers").not.toBe(before!.epoch);
  });
});

describe("export", () => {
  test("writes a JSON document and a Markdown document", async () => {
    const storage = await openStorage();
    const id = await begin(
      storage,
      entry(1, "user", "u1", "Is *this* it?"),
      entry(2, "create", "m1", "A test.", { final: false }),
    );
    const textOf = async (format: "json" | "markdown") => {
      let text = "";
      for await (const part of storage.export(id, format)) text += part;
      return text;
    };
    const { items: turns } = await storage.read(id);
    expect(JSON.parse(await textOf("json"))).toEqual({
      conversation: await storage.get(id),
      turns,
    });
    expect(await textOf("markdown")).toBe(
      [
        "# Is this it?\n\nChannel pico, session s\n",
        "## User, 1970-01-01T00:00:01.001Z\n\nIs *this* it?\n",
        "## Assistant, 1970-01-01T00:00:01.002Z\n\nA test.\n\n(incomplete)\n",
      ].join("\n"),
    );
  });

  test("reads long conversations page by page", async () => {
    const storage = await openStorage();
    const entries = Array.from({ length: 250 }, (_, at) => entry(at + 1, "user", `u${at}`, "text"));
    const id = await begin(storage, ...entries);
    let parts = 0;
    for await (const part of storage.export(id, "json")) if (part.includes('"role"')) parts++;
    expect(parts).toBe(250);
  });
});
