// Starts homes whose conversations have earlier schemas. The code of each schema wrote its file.
import { execFile } from "node:child_process";
import { mkdir, open, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { scanBackup } from "../../../config/backup/content.ts";
import { Connection, loadDriver } from "../../../plugins/conversations/sqlite/driver.ts";
import { version } from "../../../plugins/conversations/sqlite/schema.ts";
import { withBackupHome, type BackupHome } from "../../support/backups.ts";

const fixtures = join(import.meta.dirname, "../../plugins/conversations/fixtures");
const schemas = (await readdir(fixtures))
  .map((name) => Number(/^schema-(\d+)\.db\.gz$/.exec(name)?.[1] ?? Number.NaN))
  .filter((schema) => !Number.isNaN(schema));
/** Files of these versions exist in homes. */
const oldest = 5;

const databaseOf = ({ home }: BackupHome): string => join(home, "state", "conversations.db");

async function writeStore(home: BackupHome, schema: number): Promise<void> {
  const packed = await readFile(join(fixtures, `schema-${schema}.db.gz`));
  await mkdir(join(home.home, "state"), { mode: 0o700 });
  await writeFile(databaseOf(home), gunzipSync(packed), { mode: 0o600 });
}

async function schemaOf(home: BackupHome): Promise<number> {
  const connection = new Connection(loadDriver()!, databaseOf(home));
  const schema = connection.number("PRAGMA user_version");
  connection.close();
  return schema;
}

describe("homes of earlier schemas", () => {
  test("have a file of each schema before this one", () => {
    const all = Array.from({ length: version - oldest }, (_, index) => oldest + index);
    expect(schemas.sort()).toEqual(all);
  });

  test.each(schemas)("backs up a home of schema %d, and upgrades it", (schema) =>
    withBackupHome(async (home, start) => {
      await writeStore(home, schema);
      const { kernel, lines } = await start();
      const file = join(home.home, "backups", `doorward-before-schema-${version}.tar`);
      expect(lines).toContainEqual(expect.objectContaining({ file, from: schema, to: version }));
      const { items } = await kernel.services.conversations.list({ limit: 10 });
      expect(items.map(({ session, turns }) => [session, turns])).toEqual([
        ["garden", 2],
        ["kitchen", 4],
      ]);
      await home.send("kitchen", "thank you");
      const archive = await open(file);
      const { header } = await scanBackup(archive, file);
      await archive.close();
      expect(header.store).toMatchObject({ kind: "sqlite", schema, conversations: 2, entries: 6 });
      await kernel.stop();
      expect(await schemaOf(home)).toBe(version);
      await home.run(`restore ${file} -replace`);
      expect(await schemaOf(home)).toBe(schema);
    }),
  );

  test("does not upgrade a home that it cannot back up", () =>
    withBackupHome(async (home, start) => {
      await writeStore(home, oldest);
      await home.write("full", "not a folder");
      await home.write("config.json", { backup: { path: join(home.home, "full") } });
      await expect(start()).rejects.toThrow(/The backup was not made/);
      expect(await schemaOf(home)).toBe(oldest);
    }));

  test("says in one sentence that a home is of a newer version", () =>
    withBackupHome(async (home, start) => {
      await (await start()).kernel.stop();
      const connection = new Connection(loadDriver()!, databaseOf(home));
      connection.exec("PRAGMA user_version = 99");
      connection.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      connection.close();
      const program = join(import.meta.dirname, "../../../dist/bin/doorward.js");
      const env = { PATH: process.env["PATH"]!, SERVICE_HOME: home.home, HOME: home.folder };
      const words = [program, "-no-browser", "-no-tray", "-port", "0"];
      const [code, text] = await new Promise<[unknown, string]>((done) =>
        execFile(process.execPath, words, { env }, (error, _, stderr) =>
          done([error?.code, stderr]),
        ),
      );
      expect(code).toBe(1);
      const sentence = text.split("\n").filter((line) => line.startsWith("doorward:"));
      expect(sentence).toEqual([
        expect.stringMatching(
          /was written by a newer version of Doorward \(schema 99,.*-replace"\.$/,
        ),
      ]);
      expect(await readdir(home.home)).not.toContain("backups");
    }));
});
