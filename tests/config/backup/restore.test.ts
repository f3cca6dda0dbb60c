// Rejects archives that are not complete backups, before anything is changed.
import { execFileSync } from "node:child_process";
import { lstat, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  filesIn,
  header,
  withBackupHome,
  withFolder,
  writeByHand,
  type BackupHome,
  type HandMade,
} from "../../support/backups.ts";
import { interruptedRestore } from "../../../config/backup/interrupted.ts";
import { restoreBackup } from "../../../config/backup/restore.ts";
import { lockFile } from "../../../lib/files/index.ts";
import { createHistory, fileIn } from "../../support/sqlite-conversations.ts";
import { entry } from "../../support/sqlite-store.ts";
import { Connection, loadDriver } from "../../../plugins/conversations/sqlite/driver.ts";

/** SQLite removes the files next to a database when the last connection is collected. */
async function withoutLogs(home: string): Promise<object> {
  const files = Object.entries(await filesIn(home));
  return Object.fromEntries(files.filter(([name]) => !/-(?:wal|shm)$/.test(name)));
}

/** Restores, and checks that nothing is changed. @returns The sentence of the error. */
async function refusalOf(home: BackupHome, words: string): Promise<string> {
  const before = await withoutLogs(home.home);
  const names = await readdir(join(home.home, ".."));
  const error = await home.run(`restore ${words}`).then(
    ({ out }) => new Error(`restored: ${out}`),
    (reason: Error) => reason,
  );
  expect(await withoutLogs(home.home)).toEqual(before);
  const added = (await readdir(join(home.home, ".."))).filter((name) => !names.includes(name));
  expect(added.filter((name) => name.includes(home.home.split("/").at(-1)!))).toEqual([]);
  return error.message;
}

const options = { replace: false, isRunning: async () => false, now: 0 };

describe("doorward restore", () => {
  test("restores to a home that does not exist, without -replace", () =>
    withBackupHome(async (home) => {
      await home.run(`backup ${home.folder}/b.tar`);
      const env = { SERVICE_HOME: join(home.folder, "new", "home"), PATH: process.env["PATH"]! };
      const program = join(import.meta.dirname, "../../../dist/bin/doorward.js");
      execFileSync(process.execPath, [program, "restore", `${home.folder}/b.tar`], { env });
      const config = await readFile(join(env.SERVICE_HOME, "config.json"), "utf8");
      expect(JSON.parse(config)).toEqual({ channels: { pico: { enabled: true } } });
      expect(await readdir(join(home.folder, "new"))).toEqual(["home"]);
    }));

  test("needs -replace for a home with files", () =>
    withBackupHome(async (home) => {
      await home.run(`backup ${home.folder}/b.tar`);
      expect(await refusalOf(home, `${home.folder}/b.tar`)).toMatch(/it has files.*add -replace/);
    }));

  test("follows the link of a home", () =>
    withFolder(async (folder) => {
      await mkdir(join(folder, "real"));
      await symlink(join(folder, "real"), join(folder, "link"));
      await writeByHand(join(folder, "b.tar"), { files: { "home/config.json": "{}" } });
      const env = { SERVICE_HOME: join(folder, "link"), PATH: process.env["PATH"]! };
      const program = join(import.meta.dirname, "../../../dist/bin/doorward.js");
      execFileSync(process.execPath, [program, "restore", `${folder}/b.tar`], { env });
      expect(await readFile(join(folder, "real", "config.json"), "utf8")).toBe("{}");
    }));

  test("restores to the missing target of a link", () =>
    withFolder(async (folder) => {
      const link = join(folder, "link");
      await symlink("real", link);
      await writeByHand(join(folder, "b.tar"), { files: { "home/config.json": "{}" } });
      await mkdir(join(folder, ".real.restoring"));
      expect(await interruptedRestore(link)).toContain("A restore of this home was interrupted");
      await restoreBackup({ ...options, home: link, file: join(folder, "b.tar") });
      expect(await readFile(join(folder, "real", "config.json"), "utf8")).toBe("{}");
      expect((await lstat(link)).isSymbolicLink()).toBe(true);
      expect(await interruptedRestore(link)).toBeUndefined();
    }));

  test("names the file that is in the path of a home", () =>
    withFolder(async (folder) => {
      await writeByHand(join(folder, "b.tar"), { files: { "home/config.json": "{}" } });
      const home = join(folder, "b.tar", "homes", "one");
      const restored = restoreBackup({ ...options, home, file: join(folder, "b.tar") });
      await expect(restored).rejects.toThrow(
        /The backup was not restored.*a part of its path is not a folder/,
      );
    }));

  test("rejects a wrong passphrase, and restores without tokens", () =>
    withBackupHome(async (home) => {
      const file = join(home.folder, "b.tar");
      await home.run(`backup ${file} -tokens -passphrase-file ${home.folder}/passphrase`);
      await writeFile(join(home.folder, "wrong"), "another long passphrase");
      const words = `${file} -replace -passphrase-file ${home.folder}/wrong`;
      expect(await refusalOf(home, words)).toMatch(/The passphrase does not open the tokens/);
      expect(await refusalOf(home, `${file} -replace`)).toMatch(/-no-tokens/);
      await home.run(`restore ${file} -replace -no-tokens`);
      expect(await readdir(home.home)).not.toContain(".security.yml");
      expect(JSON.parse(await home.read("launcher-config.json"))).toEqual({ port: 0 });
    }));

  test("rejects tokens of another backup", () =>
    withBackupHome(async (home) => {
      const file = join(home.folder, "b.tar");
      await home.run(`backup ${file} -tokens -passphrase-file ${home.folder}/passphrase`);
      const bytes = await readFile(file);
      const at = bytes.indexOf("secrets.bin");
      const size = Number.parseInt(bytes.toString("latin1", at + 124, at + 135), 8);
      const sealed = bytes.toString("latin1", at + 512, at + 512 + size);
      await writeByHand(file, {
        header: { ...header, tokens: true },
        files: { "home/config.json": "{}" },
        after: { "secrets.bin": sealed },
      });
      const words = `${file} -replace -passphrase-file ${home.folder}/passphrase`;
      expect(await refusalOf(home, words)).toMatch(/does not open/);
    }));

  test.each([
    [99, /newer version of Doorward/],
    [4, /conversations of a development version/],
  ])("rejects conversations of schema %d", (version, text) =>
    withBackupHome(async (home) => {
      // In a folder of its own: a driver may remove the files next to a database late.
      const database = fileIn(await createHistory(entry("user", "m1", "hello")));
      const connection = new Connection(loadDriver()!, database);
      connection.exec(`PRAGMA user_version = ${version}`);
      connection.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      connection.close();
      const path = "state/conversations.db";
      const store = { kind: "sqlite", path, schema: version, conversations: 0, entries: 0 };
      const files = { [`home/${path}`]: await readFile(database) };
      await writeByHand(join(home.folder, "b.tar"), { header: { ...header, store }, files });
      expect(await refusalOf(home, `${home.folder}/b.tar -replace`)).toMatch(text);
    }),
  );

  const cases: readonly (readonly [string, HandMade, RegExp])[] = [
    ["a path out of the home", { files: { "home/../../evil": "x" } }, /outside of the home/],
    ["an absolute path", { files: { "/etc/evil": "x" } }, /outside of the home/],
    ["a path with a backslash", { files: { "home/..\\evil": "x" } }, /outside of the home/],
    ["a file next to the home", { files: { evil: "x" } }, /outside of the home/],
    ["a file in a list that lacks it", { sums: () => "" }, /its list of files/],
    ["a file after the list", { after: { "home/late": "x" } }, /does not belong there/],
    ["a newer form", { header: { ...header, format: 2 } }, /newer version.*form 2/],
    ["another first entry", { header: { format: "1" } }, /first entry/],
    ["tokens that are missing", { header: { ...header, tokens: true } }, /tokens are missing/],
    [
      "conversations that are missing",
      { header: { ...header, store: { kind: "sqlite", path: "state/c.db", entries: 1 } } },
      /conversations/,
    ],
  ];
  test.each(cases)("rejects %s", (_name, made, text) =>
    withBackupHome(async (home) => {
      await writeByHand(join(home.folder, "b.tar"), made);
      expect(await refusalOf(home, `${home.folder}/b.tar -replace`)).toMatch(text);
    }),
  );

  test("rejects links, folders and archives of other programs", () =>
    withBackupHome(async (home) => {
      await symlink("/etc/passwd", join(home.folder, "doorward-backup.json"));
      const make = (...words: string[]): void =>
        void execFileSync("tar", ["cf", join(home.folder, "b.tar"), ...words], {
          cwd: home.folder,
        });
      make("--format=ustar", "doorward-backup.json");
      expect(await refusalOf(home, `${home.folder}/b.tar -replace`)).toMatch(/not a complete/);
      make("passphrase");
      expect(await refusalOf(home, `${home.folder}/b.tar -replace`)).toMatch(/not a complete/);
      const words = `${home.folder}/missing.tar -replace`;
      expect(await refusalOf(home, words)).toMatch(/not a complete backup: it does not exist/);
      expect(await refusalOf(home, `${home.folder} -replace`)).toMatch(/not a complete/);
    }));

  test("rejects a home whose conversations another process has open", () =>
    withBackupHome(async (home, start) => {
      await (await start()).kernel.stop();
      await home.run(`backup ${home.folder}/b.tar`);
      const lock = await lockFile(join(home.home, "state", "conversations.db"));
      const message = await home.run(`restore ${home.folder}/b.tar -replace`).catch(String);
      await lock.release();
      expect(message).toMatch(/another process uses it/);
    }));

  test("keeps the folder of backups at its place", () =>
    withBackupHome(async (home) => {
      await home.run(`backup ${home.home}/backups/b.tar`);
      await home.run(`restore ${home.home}/backups/b.tar -replace`);
      expect(await readdir(join(home.home, "backups"))).toEqual(["b.tar"]);
    }));
});
