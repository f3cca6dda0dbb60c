import { randomBytes } from "node:crypto";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { createCapturedLog } from "../../../../kernel/testing.ts";
import {
  Connection,
  findSqliteDriver,
  loadDriver,
} from "../../../../plugins/conversations/sqlite/driver.ts";
import { openSqliteStore } from "../../../../plugins/conversations/sqlite/index.ts";
import { storeErrors } from "../../../../plugins/conversations/sqlite/errors.ts";
import { version } from "../../../../plugins/conversations/sqlite/schema.ts";
import {
  address,
  begin,
  createFolder,
  entry,
  openStore,
  StoppedTime,
} from "../../../support/sqlite-store.ts";

const driver = loadDriver()!;
const name = "conversations.db";

/** Runs SQL on a file that no store has opened. */
function edit(path: string, sql: string): void {
  const connection = new Connection(driver, path);
  connection.exec(sql);
  connection.get("PRAGMA wal_checkpoint(TRUNCATE)");
  connection.close();
}

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe("openSqliteStorage", () => {
  test.each([":memory:", "", "file:x?mode=memory"])("rejects the path %j", async (path) => {
    const log = createCapturedLog().log;
    const random = (): Uint8Array => new Uint8Array();
    const opened = openSqliteStore({ path, log, random, clock: new StoppedTime() });
    await expect(opened).rejects.toMatchObject({ code: "STORE_PATH" });
  });

  test("creates private files in a private folder", async () => {
    const path = join(createFolder(), "deep", "state");
    const store = await openStore({ folder: path });
    await begin(store, entry("user", "u1", "hello"));
    const files = readdirSync(path).filter((file) => file.startsWith(name));
    expect(files.sort()).toEqual([name, ...["shm", "wal"].map((suffix) => `${name}-${suffix}`)]);
    expect(new Set(files.map((file) => modeOf(join(path, file))))).toEqual(new Set(["600"]));
    expect([modeOf(path), modeOf(dirname(path))]).toEqual(["700", "700"]);
  });

  test("closes a file that others could read, and warns", async () => {
    const path = createFolder();
    await (await openStore({ folder: path })).end();
    chmodSync(join(path, name), 0o644);
    const { log, lines } = createCapturedLog();
    await openStore({ folder: path, log });
    expect(modeOf(join(path, name))).toBe("600");
    expect(lines.filter(({ level }) => level === "warn")).toHaveLength(1);
  });

  test("rejects a second process with STORE_IN_USE", async () => {
    const path = createFolder();
    await openStore({ folder: path });
    await expect(openStore({ folder: path })).rejects.toMatchObject({
      code: "STORE_IN_USE",
      message: expect.stringContaining(String(process.pid)),
    });
  });

  test("opens a store again after it was closed", async () => {
    const path = createFolder();
    const first = await openStore({ folder: path });
    const id = await begin(first, entry("user", "u1", "hello"));
    await first.end();
    const second = await openStore({ folder: path });
    expect(second.history.get(id)).toMatchObject({ title: "hello", turns: 1 });
    expect(second.health()).toMatchObject({ conversations: 1, oldestAt: 1000, state: "up" });
  });

  test
    .skipIf(process.platform === "win32")
    .each([
      ...["", "-wal", "-shm"].map((suffix) => ["a pipe", suffix, "is not a file"] as const),
      ...["", "-wal", "-shm"].map((suffix) => ["a folder", suffix, "is not a file"] as const),
      ["a link to itself", "", "its symbolic links form a loop"],
      ["a link to itself", "-wal", "its symbolic links form a loop"],
    ] as const)("refuses %s as %s next to its file", async (kind, suffix, problem) => {
    const path = createFolder();
    const place = join(path, name + suffix);
    if (suffix !== "") {
      // Node 20 keeps a closed store open until its statements are collected, and then deletes the files next to it.
      const closed = createFolder();
      await (await openStore({ folder: closed })).end();
      copyFileSync(join(closed, name), join(path, name));
    }
    if (kind === "a pipe") execFileSync("mkfifo", [place]);
    else if (kind === "a folder") mkdirSync(place);
    else symlinkSync(place, place);
    await expect(openStore({ folder: path })).rejects.toMatchObject({
      code: "STORE_BROKEN",
      message: expect.stringContaining(problem),
    });
  });

  test.each([
    [5, "DROP TABLE answer; DROP TABLE deleted"],
    [6, "DROP TABLE deleted"],
  ])("adds the tables of later versions to a file of version %i", async (old, drop) => {
    const path = createFolder();
    const first = await openStore({ folder: path });
    const id = await begin(first, entry("user", "u1", "hello"));
    await first.end();
    edit(join(path, name), `${drop}; PRAGMA user_version = ${old}`);
    const second = await openStore({ folder: path });
    second.noteEnd(address, "u1", { outcome: "completed", answerMs: 7 });
    expect(second.history.read(id).items[0]).toMatchObject({ content: "hello" });
    await second.end();
    const connection = new Connection(driver, join(path, name));
    const value = '{"outcome":"completed","answerMs":7}';
    expect(connection.all("SELECT request, value FROM answer")).toEqual([{ request: "u1", value }]);
    expect(connection.number("SELECT count(*) FROM deleted")).toBe(0);
    expect(connection.number("PRAGMA user_version")).toBe(version);
    connection.close();
  });

  test.each([
    ["text", "these are notes, and not a database\n".repeat(200), /not a SQLite database/],
    ["few bytes", "x", /not a SQLite database/],
  ])("refuses a file of %s and leaves it unchanged", async (_, content, problem) => {
    const path = createFolder();
    writeFileSync(join(path, name), content);
    await expect(openStore({ folder: path })).rejects.toMatchObject({
      code: "STORE_BROKEN",
      message: expect.stringMatching(problem),
    });
    expect(readFileSync(join(path, name), "utf8")).toBe(content);
  });

  test("names a command that moves the refused file aside", async () => {
    const path = join(createFolder(), "it's here");
    mkdirSync(path);
    writeFileSync(join(path, name), "notes");
    const error: unknown = await openStore({ folder: path }).catch((thrown: unknown) => thrown);
    const command = (error as Error).message.split("Move it aside with: ")[1]!;
    execFileSync("sh", ["-c", command]);
    expect(readFileSync(join(path, "broken", name), "utf8")).toBe("notes");
    const store = await openStore({ folder: path });
    expect(store.health().conversations).toBe(0);
  });

  test.skipIf(process.platform === "win32")("refuses a FIFO without waiting for it", async () => {
    const path = createFolder();
    execFileSync("mkfifo", [join(path, name)]);
    await expect(openStore({ folder: path })).rejects.toMatchObject({
      code: "STORE_BROKEN",
      message: expect.stringContaining("it is not a file"),
    });
    expect(readdirSync(path)).toEqual([name]);
  });

  test("refuses a directory", async () => {
    const path = createFolder();
    mkdirSync(join(path, name));
    await expect(openStore({ folder: path })).rejects.toMatchObject({ code: "STORE_BROKEN" });
    expect(readdirSync(path, { recursive: true })).toEqual([name]);
  });

  test.each([
    ["trigger", "CREATE TRIGGER t AFTER INSERT ON entry BEGIN DELETE FROM entry; END"],
    ["view", "CREATE VIEW extra AS SELECT * FROM entry"],
    ["table", "CREATE TABLE extra(a)"],
    [
      "trigger with a name of the index",
      "CREATE TRIGGER words_t AFTER INSERT ON entry BEGIN SELECT 1; END",
    ],
    ["missing index", "DROP INDEX entry_turn"],
  ])("refuses a file with a %s of another program", async (_, sql) => {
    const path = createFolder();
    const first = await openStore({ folder: path });
    await begin(first, entry("user", "u1", "hello"));
    await first.end();
    edit(join(path, name), sql);
    const before = readFileSync(join(path, name));
    await expect(openStore({ folder: path })).rejects.toMatchObject({
      code: "STORE_BROKEN",
      message: expect.stringContaining("another program"),
    });
    expect(readFileSync(join(path, name)).equals(before)).toBe(true);
    // The driver of the package may leave the empty log.
    expect(statSync(`${join(path, name)}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0);
  });

  test("refuses the database of another program", async () => {
    const path = createFolder();
    edit(join(path, name), "CREATE TABLE entry(a); INSERT INTO entry VALUES (1)");
    const before = readFileSync(join(path, name));
    await expect(openStore({ folder: path })).rejects.toMatchObject({
      code: "STORE_BROKEN",
      message: expect.stringContaining("another program"),
    });
    expect(readFileSync(join(path, name)).equals(before)).toBe(true);
  });

  test("refuses a newer schema and names both versions", async () => {
    const path = createFolder();
    await (await openStore({ folder: path })).end();
    edit(join(path, name), "PRAGMA user_version = 99");
    await expect(openStore({ folder: path })).rejects.toMatchObject({
      code: "STORE_NEWER",
      message: expect.stringMatching(new RegExp(`schema 99,.*knows ${version}\\)`)),
    });
  });

  test.each([1, 2, 3, 4])("refuses development form %i and changes nothing", async (form) => {
    const path = createFolder();
    await (await openStore({ folder: path })).end();
    edit(join(path, name), `PRAGMA user_version = ${form}`);
    const before = readFileSync(join(path, name));
    await expect(openStore({ folder: path })).rejects.toMatchObject({
      code: "STORE_OLD",
      message: expect.stringContaining(`mv '${join(path, name)}'*`),
    });
    expect(readFileSync(join(path, name)).equals(before)).toBe(true);
  });

  test("refuses a file that was cut off", async () => {
    const path = createFolder();
    const store = await openStore({ folder: path });
    await begin(store, entry("user", "u1", "x".repeat(100_000)));
    await store.end();
    truncateSync(join(path, name), statSync(join(path, name)).size - 50_000);
    await expect(openStore({ folder: path })).rejects.toMatchObject({ code: "STORE_BROKEN" });
  });

  test("refuses a file whose pages are damaged", async () => {
    const path = createFolder();
    await (await openStore({ folder: path })).end();
    const bytes = readFileSync(join(path, name));
    writeFileSync(
      join(path, name),
      Buffer.concat([bytes.subarray(0, 100), randomBytes(bytes.length - 100)]),
    );
    await expect(openStore({ folder: path })).rejects.toMatchObject({ code: "STORE_BROKEN" });
  });

  test("rejects with store_unavailable if the file cannot be created", async () => {
    const path = join(createFolder(), "file");
    writeFileSync(path, "");
    await expect(openStore({ folder: path })).rejects.toMatchObject({ code: "store_unavailable" });
  });

  test("releases the lock if it cannot open the file", async () => {
    const path = createFolder();
    writeFileSync(join(path, name), "notes");
    await expect(openStore({ folder: path })).rejects.toMatchObject({ code: "STORE_BROKEN" });
    expect(existsSync(join(path, `.${name}.lock`))).toBe(false);
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
    const first = await openStore({ folder: path, boot: "b1" });
    await begin(first, entry("user", "u1", "hello"));
    const before = first.load(address)!;
    await first.end();
    if (uncleanBoot !== undefined) unclean(path, uncleanBoot, durability);
    const { log, lines } = createCapturedLog();
    const second = await openStore({ folder: path, boot: "b2", log });
    const after = second.load(address)!;
    expect(after.epoch === before.epoch).toBe(stays);
    expect(after).toMatchObject({ seq: 1, epoch: expect.stringMatching(/^[0-9a-f]{16}$/) });
    expect(lines.filter(({ level }) => level === "warn")).toHaveLength(stays ? 0 : 1);
  });
});

describe("findSqliteDriver", () => {
  test("names this Node, or the package", () => {
    expect(findSqliteDriver()).toBe(
      isBuiltin("node:sqlite") ? "node:sqlite" : "@photostructure/sqlite",
    );
  });

  test.each([
    [{ deno: "2.6.10" }, undefined],
    [{ deno: "1.46.3" }, undefined],
    [{ deno: "2.7.1" }, findSqliteDriver()],
    [{ deno: "3.0.0" }, findSqliteDriver()],
    [{ bun: "1.4.5" }, isBuiltin("node:sqlite") ? "node:sqlite" : undefined],
  ])("finds what works in %o", (versions, expected) => {
    expect(findSqliteDriver(versions)).toBe(expected);
  });

  test.each([
    [{ bun: "1.3.14", node: "24.3.0" }, /^Bun 1\.3\.14 has no SQLite .* Bun 1\.4/],
    [{ deno: "2.6.0", node: "24.2.0" }, /^Deno 2\.6\.0 has no SQLite .* Deno 2\.7/],
    [{ node: "20.20.2" }, /^Node 20\.20\.2 has no SQLite .* npm install/],
  ])("says what works instead of %o", (versions, expected) => {
    expect(storeErrors.STORE_DRIVER_MISSING(versions).message).toMatch(expected);
  });
});
