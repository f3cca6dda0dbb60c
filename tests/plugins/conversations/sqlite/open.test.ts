import { randomBytes } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { createCapturedLog } from "../../../../kernel/testing.ts";
import { Connection } from "../../../../plugins/conversations/stores/sqlite/connection.ts";
import { loadDriver } from "../../../../plugins/conversations/stores/sqlite/driver.ts";
import { migrate, migrations } from "../../../../plugins/conversations/stores/sqlite/schema.ts";
import {
  address,
  begin,
  createFolder,
  entry,
  openStorage,
  write,
} from "../../../support/sqlite-storage-harness.ts";

const driver = loadDriver()!;
const name = "conversations.db";
const fixture = fileURLToPath(new URL("fixtures/version-1.db", import.meta.url));

/** Runs SQL on a file that no storage has opened. */
function edit(path: string, sql: string): void {
  const connection = new Connection(driver, path);
  connection.exec(sql);
  connection.close();
}

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe("openSqliteStorage", () => {
  test("creates private files in a private folder", async () => {
    const path = join(createFolder(), "deep", "state");
    const storage = await openStorage({ path });
    await begin(storage, entry(1, "user", "u1", "hello"));
    const files = readdirSync(path).filter((file) => file.startsWith(name));
    expect(files.sort()).toEqual([
      name,
      ...["log1", "log2", "shm", "wal"].map((suffix) => `${name}-${suffix}`),
    ]);
    expect(new Set(files.map((file) => modeOf(join(path, file))))).toEqual(new Set(["600"]));
    expect([modeOf(path), modeOf(dirname(path))]).toEqual(["700", "700"]);
  });

  test("closes a file that others could read, and warns", async () => {
    const path = createFolder();
    writeFileSync(join(path, name), "");
    chmodSync(join(path, name), 0o644);
    const { log, lines } = createCapturedLog();
    await openStorage({ path, log });
    expect(modeOf(join(path, name))).toBe("600");
    expect(lines.filter(({ level }) => level === "warn")).toHaveLength(1);
  });

  test("rejects a second process with STORE_IN_USE", async () => {
    const path = createFolder();
    await openStorage({ path });
    await expect(openStorage({ path })).rejects.toMatchObject({
      code: "STORE_IN_USE",
      message: expect.stringContaining(String(process.pid)),
    });
  });

  test("opens a store again after it was closed", async () => {
    const path = createFolder();
    const first = await openStorage({ path });
    const id = await begin(first, entry(1, "user", "u1", "hello"));
    await first.close();
    const second = await openStorage({ path });
    expect(await second.get(id)).toMatchObject({ title: "hello", turns: 1 });
    expect(second.health()).toMatchObject({ conversations: 1, oldestAt: 1001, state: "up" });
  });

  test.each([
    ["text", "these are notes, and not a database\n".repeat(200), /not a SQLite database/],
    ["few bytes", "x", /not a SQLite database/],
  ])("refuses a file of %s and leaves it unchanged", async (_, content, problem) => {
    const path = createFolder();
    writeFileSync(join(path, name), content);
    await expect(openStorage({ path })).rejects.toMatchObject({
      code: "STORE_BROKEN",
      message: expect.stringMatching(problem),
    });
    expect(readFileSync(join(path, name), "utf8")).toBe(content);
  });

  test("names a command that moves the refused file aside", async () => {
    const path = join(createFolder(), "it's here");
    mkdirSync(path);
    writeFileSync(join(path, name), "notes");
    const error: unknown = await openStorage({ path }).catch((thrown: unknown) => thrown);
    const command = (error as Error).message.split("Move it aside with: ")[1]!;
    execFileSync("sh", ["-c", command]);
    expect(readFileSync(join(path, "broken", name), "utf8")).toBe("notes");
    const storage = await openStorage({ path });
    expect(storage.health().conversations).toBe(0);
  });

  test("refuses the database of another program", async () => {
    const path = createFolder();
    edit(join(path, name), "CREATE TABLE entry(a); INSERT INTO entry VALUES (1)");
    const before = readFileSync(join(path, name));
    await expect(openStorage({ path })).rejects.toMatchObject({
      code: "STORE_BROKEN",
      message: expect.stringContaining("another program"),
    });
    expect(readFileSync(join(path, name)).equals(before)).toBe(true);
  });

  test("refuses a newer schema and names both versions", async () => {
    const path = createFolder();
    await (await openStorage({ path })).close();
    edit(join(path, name), "PRAGMA user_version = 99");
    await expect(openStorage({ path })).rejects.toMatchObject({
      code: "STORE_NEWER",
      message: expect.stringMatching(new RegExp(`version 99.*version ${migrations.length}\\b`)),
    });
  });

  test("refuses a file that was cut off", async () => {
    const path = createFolder();
    const storage = await openStorage({ path });
    await begin(storage, entry(1, "user", "u1", "x".repeat(100_000)));
    await storage.close();
    truncateSync(join(path, name), statSync(join(path, name)).size - 50_000);
    await expect(openStorage({ path })).rejects.toMatchObject({ code: "STORE_BROKEN" });
  });

  test("refuses a file whose pages are damaged", async () => {
    const path = createFolder();
    await (await openStorage({ path })).close();
    const bytes = readFileSync(join(path, name));
    writeFileSync(
      join(path, name),
      Buffer.concat([bytes.subarray(0, 100), randomBytes(bytes.length - 100)]),
    );
    await expect(openStorage({ path })).rejects.toMatchObject({ code: "STORE_BROKEN" });
  });

  test("rejects with store_unavailable if the file cannot be created", async () => {
    const path = join(createFolder(), "file");
    writeFileSync(path, "");
    await expect(openStorage({ path })).rejects.toMatchObject({ code: "store_unavailable" });
  });

  test("releases the lock if it cannot open the file", async () => {
    const path = createFolder();
    writeFileSync(join(path, name), "notes");
    await expect(openStorage({ path })).rejects.toMatchObject({ code: "STORE_BROKEN" });
    expect(existsSync(join(path, `.${name}.lock`))).toBe(false);
  });
});

describe("schema", () => {
  test("reads a database of version 1", async () => {
    const path = createFolder();
    copyFileSync(fixture, join(path, name));
    const storage = await openStorage({ path });
    const { items } = await storage.list();
    expect(items).toMatchObject([{ session: "kept", title: "Do you remember version one?" }]);
    const { items: turns } = await storage.read(items[0]!.id);
    expect(turns.map(({ role, content }) => [role, content])).toEqual([
      ["user", "Do you remember version one?"],
      ["assistant", "Yes, every word."],
    ]);
    expect(await storage.search("every word")).toHaveLength(1);
    await write(storage, [entry(4, "user", "u2", "Good.", { session: "kept" })]);
    expect(await storage.get(items[0]!.id)).toMatchObject({ turns: 3 });
  });

  test("brings an older file up to date in one transaction", () => {
    const connection = new Connection(driver, join(createFolder(), name));
    expect(migrate(connection)).toBe(0);
    const next = [...migrations, "ALTER TABLE conversation ADD COLUMN extra TEXT"];
    const failing = [...next, "CREATE TABLE later(a); SELECT * FROM missing"];
    expect(() => migrate(connection, failing)).toThrow("missing");
    expect(connection.number("PRAGMA user_version")).toBe(migrations.length);
    expect(migrate(connection, next)).toBe(migrations.length);
    expect(connection.number("PRAGMA user_version")).toBe(next.length);
    expect(connection.all("SELECT extra FROM conversation")).toEqual([]);
    connection.close();
  });
});

describe("epochs", () => {
  const unclean = (path: string, boot: string, durability = "process"): void =>
    edit(
      join(path, name),
      `UPDATE meta SET value = 0 WHERE key = 'clean';
       UPDATE meta SET value = '${boot}' WHERE key = 'boot';
       UPDATE meta SET value = '${durability}' WHERE key = 'durability'`,
    );

  test.each([
    ["stay after a clean end and a new start of the machine", undefined, "process", true],
    ["stay after an unclean end if the machine did not start", "b2", "process", true],
    ["stay after a power failure with the durability power", "b1", "power", true],
    ["change after a power failure with the durability process", "b1", "process", false],
  ])("%s", async (_, uncleanBoot, durability, stays) => {
    const path = createFolder();
    const first = await openStorage({ path, boot: "b1" });
    await begin(first, entry(1, "user", "u1", "hello"));
    const before = (await first.load(address))!;
    await first.close();
    if (uncleanBoot !== undefined) unclean(path, uncleanBoot, durability);
    const { log, lines } = createCapturedLog();
    const second = await openStorage({ path, boot: "b2", log });
    const after = (await second.load(address))!;
    expect(after.epoch === before.epoch).toBe(stays);
    expect(after).toMatchObject({ seq: 1, epoch: expect.stringMatching(/^[0-9a-f]{16}$/) });
    expect(lines.filter(({ level }) => level === "warn")).toHaveLength(stays ? 0 : 1);
  });
});
