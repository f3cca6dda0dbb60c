import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { Connection, loadDriver } from "../../../../plugins/conversations/sqlite/driver.ts";
import { fileIn } from "../../../support/sqlite-conversations.ts";
import {
  createFolder,
  entry,
  openStore,
  settleUpkeep,
  StoppedTime,
  write,
} from "../../../support/sqlite-store.ts";

const fixture = fileURLToPath(new URL("fixtures/version-1.db", import.meta.url));

/** The steps from version 1 to the later development forms. */
const steps = [
  "ALTER TABLE taken ADD COLUMN stopped INTEGER NOT NULL DEFAULT 0",
  "CREATE TABLE journal(id INTEGER PRIMARY KEY, data BLOB NOT NULL)",
  "INSERT INTO meta VALUES ('log', ''), ('written', 0), ('forgotten', '[]')",
];

function edit(path: string, sql: string): void {
  const connection = new Connection(loadDriver()!, path);
  connection.exec(sql);
  connection.get("PRAGMA wal_checkpoint(TRUNCATE)");
  connection.close();
}

/** Creates a home of a development form. @returns Its folder. */
function createOld(version: number, sql = ""): string {
  const folder = createFolder();
  const path = fileIn(folder);
  copyFileSync(fixture, path);
  const all = [...steps.slice(0, version - 1), sql, `PRAGMA user_version = ${version}`];
  edit(path, all.filter(Boolean).join("; "));
  return folder;
}

const copyIn = (folder: string): string => `${fileIn(folder)}.before-5`;
const kept = { channel: "pico", session: "kept" };

describe("importFile", () => {
  test.each([1, 2, 3, 4])("reads version %i once, after a copy", async (version) => {
    const folder = createOld(version);
    const before = readFileSync(fileIn(folder));
    const first = await openStore({ folder });
    const [summary] = first.history.list().items;
    expect(summary).toMatchObject({ session: "kept", title: "Do you remember version one?" });
    const { items: turns } = first.history.read(summary!.id);
    expect(turns.map(({ role, content }) => [role, content])).toEqual([
      ["user", "Do you remember version one?"],
      ["assistant", "Yes, every word."],
    ]);
    await settleUpkeep(first);
    expect(first.history.search("every word")).toHaveLength(1);
    const { seq, epoch } = first.load(kept)!;
    await write(first, entry("user", "u2", "Good.", kept));
    expect(readFileSync(copyIn(folder)).equals(before)).toBe(true);
    await first.end();
    const second = await openStore({ folder });
    expect(second.load(kept)).toMatchObject({ seq: seq + 1, epoch });
    expect(second.history.get(summary!.id)).toMatchObject({ turns: 3 });
    expect(readdirSync(folder).filter((name) => name.includes("before-5"))).toHaveLength(1);
  });

  test("keeps titles, ids of messages, and the places of readers", async () => {
    const clock = new StoppedTime(Date.UTC(2030, 0, 1));
    const at = clock.now() - 1_000;
    const folder = createOld(
      4,
      `UPDATE conversation SET name = 'Chosen', folded = 'chosen', written = 2, resumes = 1;
       INSERT INTO taken(conversation, message, digest, at, stopped)
         SELECT id, 'q9', 'd9', ${at}, 1 FROM conversation`,
    );
    const store = await openStore({ folder, clock });
    expect(store.history.list({ query: "CHOSEN" }).items).toMatchObject([
      { title: "Chosen", renamed: true },
    ]);
    expect(store.load(kept)).toMatchObject({ written: 2, resumes: true });
    expect(store.knownIds(kept)).toEqual([{ id: "q9", digest: "d9", ageMs: 1_000, stopped: true }]);
    await write(store, entry("user", "u2", "Good.", kept));
    expect(store.history.find(kept)).toMatchObject({ turns: 3 });
  });

  test("begins again after an interruption", async () => {
    const folder = createOld(4);
    writeFileSync(`${fileIn(folder)}.importing`, "half of a file");
    writeFileSync(`${copyIn(folder)}.part`, "half of a copy");
    const store = await openStore({ folder });
    expect(store.history.list().items).toHaveLength(1);
    expect(existsSync(`${fileIn(folder)}.importing`)).toBe(false);
    expect(existsSync(`${copyIn(folder)}.part`)).toBe(false);
  });

  test("replaces no copy of an earlier import", async () => {
    const folder = createOld(4);
    writeFileSync(copyIn(folder), "another copy");
    await openStore({ folder });
    expect(readFileSync(copyIn(folder), "utf8")).toBe("another copy");
    expect(existsSync(`${copyIn(folder)}-2`)).toBe(true);
  });

  test("accepts empty logs", async () => {
    const folder = createOld(4);
    writeFileSync(`${fileIn(folder)}-log1`, "");
    expect((await openStore({ folder })).history.list().items).toHaveLength(1);
  });

  test.each([
    ["-log1", 4, ""],
    ["-log2", 4, ""],
    ["its journal", 3, "INSERT INTO journal(data) VALUES (x'00')"],
  ])("refuses a file of which %s has messages, and changes nothing", async (log, version, sql) => {
    const folder = createOld(version, sql);
    if (sql === "") writeFileSync(fileIn(folder) + log, "batch");
    const before = readFileSync(fileIn(folder));
    await expect(openStore({ folder })).rejects.toMatchObject({
      code: "STORE_UNFINISHED",
      message: expect.stringContaining(log),
    });
    expect(readFileSync(fileIn(folder)).equals(before)).toBe(true);
    expect(existsSync(copyIn(folder))).toBe(false);
    if (sql === "")
      expect(readFileSync(join(folder, `conversations.db${log}`), "utf8")).toBe("batch");
  });
});
