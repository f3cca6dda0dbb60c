// Makes backups of running homes and restores them.
import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createBackup } from "../../../config/backup/create.ts";
import {
  allTurns,
  filesIn,
  launcherToken,
  picoToken,
  withBackupHome,
} from "../../support/backups.ts";
import { noteFailed } from "../../../plugins/backup/index.ts";
import { Connection, loadDriver } from "../../../plugins/conversations/sqlite/driver.ts";

const asideIn = async (home: string): Promise<string | undefined> => {
  const name = home.slice(home.lastIndexOf("/") + 1);
  const found = await readdir(join(home, ".."));
  return found.find((other) => other.startsWith(`${name}.before-restore-`));
};

describe("doorward backup", () => {
  test("has every conversation, file, setting and sign-in of a running launcher", () =>
    withBackupHome(async (home, start) => {
      const { kernel } = await start();
      const id = await home.upload("s", "the content of a file");
      await home.send("s", "with a file", [{ id }]);
      await home.send("t", "another one");
      await mkdir(join(home.home, "state", "program"), { recursive: true });
      await writeFile(join(home.home, "state", "program", "memory.json"), '{"seen":3}');
      const before = await allTurns(kernel);
      const file = join(home.folder, "b.tar");
      const words = `-tokens -passphrase-file ${home.folder}/passphrase`;
      const made = await home.run(`backup ${file} ${words}`);
      expect(made).toMatchObject({ code: 0, out: expect.stringContaining("2 conversations") });

      await home.send("s", "after the backup");
      const refused = await home.run(`restore ${file} -replace ${words.slice(8)}`).catch(String);
      expect(refused).toMatch(/a launcher of it runs/);
      await kernel.stop();
      const kept = await filesIn(home.home);
      const restored = await home.run(`restore ${file} -replace ${words.slice(8)}`);
      expect(restored).toMatchObject({ code: 0, out: expect.stringContaining("tokens") });
      expect(restored.said).toContain((await asideIn(home.home))!);
      const now = await filesIn(home.home);
      for (const name of ["config.json", "launcher-config.json", ".security.yml"])
        expect(now[name]).toBe(kept[name]);
      expect(now["state/program/memory.json"]).toBe('{"seen":3}');

      const again = await start();
      expect(await allTurns(again.kernel)).toEqual(before);
      const opened = await again.kernel.services.media.open(id);
      expect(String(await opened.toArray())).toBe("the content of a file");
    }));

  test("contains no token without a passphrase", () =>
    withBackupHome(async (home) => {
      const handler = { command: ["true"], env: { OPENAI_API_KEY: "sk-secret-of-a-program" } };
      const model_list = [{ name: "m", api_key: "sk-in-a-list" }];
      await home.write("config.json", {
        channels: { pico: { enabled: true, token: picoToken }, mqtt: { password: "pw-mqtt" } },
        model_list,
        handler,
      });
      const file = join(home.folder, "b.tar");
      expect((await home.run(`backup ${file}`)).said).toContain("Tokens and sign-ins are not in");
      const plain = await readFile(file, "latin1");
      const sealed = join(home.folder, "c.tar");
      await home.run(`backup ${sealed} -tokens -passphrase-file ${home.folder}/passphrase`);
      const encrypted = await readFile(sealed, "latin1");
      const secrets = [
        picoToken,
        launcherToken,
        "sk-secret-of-a-program",
        "sk-in-a-list",
        "pw-mqtt",
      ];
      for (const secret of secrets)
        for (const text of [plain, encrypted]) expect(text).not.toContain(secret);
      expect(plain).toContain('"command":["true"]');
    }));

  test("contains records of plugins only with a passphrase", () =>
    withBackupHome(async (home) => {
      const folder = join(home.home, "state", "records");
      await mkdir(folder, { recursive: true });
      const records = {
        "push.keys.jsonl": "the private key of notifications",
        "keys.keys.jsonl": "the hash of a key",
        "mine.secrets.jsonl": "a secret of a plugin",
        "dashboard.other.jsonl": "a later record of the dashboard",
        "dashboard.flags.jsonl": "a pinned conversation",
        "decisions.lines.jsonl": "a decision of a person",
      };
      for (const [name, text] of Object.entries(records)) await writeFile(join(folder, name), text);
      const file = join(home.folder, "b.tar");
      expect((await home.run(`backup ${file}`)).said).toContain("records of plugins and sign-ins");
      const sealed = join(home.folder, "c.tar");
      const words = `-passphrase-file ${home.folder}/passphrase`;
      await home.run(`backup ${sealed} -tokens ${words}`);
      for (const path of [file, sealed]) {
        const text = await readFile(path, "latin1");
        const found = Object.values(records).filter((record) => text.includes(record));
        expect(found).toEqual(["a pinned conversation", "a decision of a person"]);
      }
      await home.run(`restore ${file} -replace`);
      const plain = ["dashboard.flags.jsonl", "decisions.lines.jsonl"];
      expect((await readdir(folder)).toSorted()).toEqual(plain);
      await home.run(`restore ${sealed} -replace ${words}`);
      for (const [name, text] of Object.entries(records))
        expect(await readFile(join(folder, name), "utf8")).toBe(text);
    }));

  test("writes a tar file with a list of hashes", () =>
    withBackupHome(async (home) => {
      const deep = join(home.home, "state", "program", "ü".repeat(60), "x".repeat(90));
      await mkdir(deep, { recursive: true });
      await writeFile(join(deep, "long.txt"), "found");
      await writeFile(join(deep, "empty"), "");
      const file = join(home.folder, "b.tar");
      await home.run(`backup ${file}`);
      const at = join(home.folder, "unpacked");
      await mkdir(at);
      execFileSync("tar", ["xf", file, "-C", at]);
      const output = execFileSync("sha256sum", ["-c", "SHA256SUMS"], { cwd: at, encoding: "utf8" });
      expect(output).toMatch(/long\.txt: OK/);
      const { "state/program/placeholder": _, ...found } = await filesIn(join(at, "home"));
      expect(Object.keys(found).filter((name) => name.endsWith("long.txt"))).toHaveLength(1);
      await home.run(`restore ${file} -replace`);
      expect(await readFile(join(deep, "long.txt"), "utf8")).toBe("found");
      expect(await readFile(join(deep, "empty"), "utf8")).toBe("");
    }));

  test("copies the database of a program as it is at one moment", () =>
    withBackupHome(async (home) => {
      const folder = join(home.home, "state", "program");
      await mkdir(folder, { recursive: true });
      const database = new Connection(loadDriver()!, join(folder, "memory.db"));
      database.get("PRAGMA journal_mode = WAL");
      database.exec("CREATE TABLE fact(text); INSERT INTO fact VALUES ('in the log only')");
      await home.run(`backup ${home.folder}/b.tar`);
      database.close();
      await home.run(`restore ${home.folder}/b.tar -replace`);
      const restored = new Connection(loadDriver()!, join(folder, "memory.db"));
      expect(restored.all("SELECT text FROM fact")).toEqual([{ text: "in the log only" }]);
      restored.close();
    }));

  test("moves conversations and files from outside into the home", () =>
    withBackupHome(async (home, start) => {
      const store = { path: join(home.folder, "far", "c.db") };
      const media = { path: join(home.folder, "far", "media") };
      await home.write("config.json", { channels: { pico: { enabled: true } }, store, media });
      const { kernel } = await start();
      const id = await home.upload("s", "far away");
      await home.send("s", "with a file", [{ id }]);
      const before = await allTurns(kernel);
      await home.run(`backup ${home.folder}/b.tar`);
      await kernel.stop();
      await home.run(`restore ${home.folder}/b.tar -replace`);
      await home.write(".security.yml", `channels:\n  pico:\n    token: "${picoToken}"\n`);
      expect(await home.read("config.json")).not.toContain("far");
      const again = await start();
      expect(await allTurns(again.kernel)).toEqual(before);
      const opened = await again.kernel.services.media.open(id);
      expect(String(await opened.toArray())).toBe("far away");
    }));

  test.each([
    ["redis", "Conversations are in Redis, and not in this backup"],
    ["memory", 'Conversations are not in this backup: "store.kind" is memory'],
  ])("says what it lacks with the store %s", (kind, text) =>
    withBackupHome(async (home) => {
      await home.write("config.json", { store: { kind } });
      const { said } = await home.run(`backup ${home.folder}/b.tar`);
      expect(said).toContain(text);
      expect((await home.run(`restore ${home.folder}/b.tar -replace`)).code).toBe(0);
    }),
  );

  test("names files of the home, links and variables that it leaves out", () =>
    withBackupHome(
      async (home) => {
        await home.write("agent.py", "print()");
        await mkdir(join(home.home, "state"));
        await symlink("/etc/passwd", join(home.home, "state", "link"));
        const { said } = await home.run(`backup ${home.folder}/b.tar`);
        expect(said).toContain("agent.py");
        expect(said).toContain("state/link");
        expect(said).toContain("SERVICE_LAUNCHER_PORT");
        const { said: told } = await home.run(`restore ${home.folder}/b.tar -replace`);
        expect(told).toContain("the backup does not have agent.py of the former home");
      },
      { SERVICE_LAUNCHER_PORT: "0" },
    ));

  test("replaces a backup, and no other file", () =>
    withBackupHome(async (home) => {
      await home.run(`backup ${home.folder}/b.tar`);
      expect((await home.run(`backup ${home.folder}/b.tar`)).code).toBe(0);
      await writeFile(join(home.folder, "notes.txt"), "mine");
      await expect(home.run(`backup ${home.folder}/notes.txt`)).rejects.toThrow(/another file/);
      expect(await readFile(join(home.folder, "notes.txt"), "utf8")).toBe("mine");
      await expect(home.run(`backup ${home.folder}`)).rejects.toThrow(/it is not a file/);
    }));

  test("names the part of the path that is not a folder", () =>
    withBackupHome(async (home) => {
      const file = join(home.folder, "passphrase", "b.tar");
      await expect(home.run(`backup ${file}`)).rejects.toThrow(
        /The backup was not made.*passphrase.*a part of its path is not a folder/,
      );
    }));

  test("fails if the conversations cannot be reached", () =>
    withBackupHome(async (home) => {
      await mkdir(join(home.home, "state"));
      await symlink("conversations.db", join(home.home, "state", "conversations.db"));
      await expect(home.run(`backup ${home.folder}/b.tar`)).rejects.toThrow(
        /The backup was not made.*conversations\.db: its symbolic links form a loop/,
      );
    }));

  test("does not replace a backup by one of a missing home", () =>
    withBackupHome(async (home) => {
      const file = join(home.folder, "b.tar");
      await home.run(`backup ${file}`);
      const before = await readFile(file);
      const options = { home: join(home.folder, "typo"), env: {}, file, version: "0.0.0", now: 0 };
      await expect(createBackup(options)).rejects.toThrow(
        /typo: this home does not exist; see SERVICE_HOME/,
      );
      expect((await readFile(file)).equals(before)).toBe(true);
    }));

  test("keeps the earlier backup if the disk is full", () =>
    withBackupHome(async (home) => {
      const file = join(home.folder, "b.tar");
      await home.run(`backup ${file}`);
      const before = await readFile(file);
      await mkdir(join(home.home, "state", "program"), { recursive: true });
      await writeFile(join(home.home, "state", "program", "large"), Buffer.alloc(4_000_000));
      const program = join(import.meta.dirname, "../../../dist/bin/doorward.js");
      // A limit of the size of files ends writes as a full disk does.
      const script = `ulimit -f 2000; exec "${process.execPath}" "${program}" backup "${file}"`;
      const env = { PATH: process.env["PATH"]!, SERVICE_HOME: home.home, HOME: home.folder };
      const run = (): string => execFileSync("sh", ["-c", script], { env, encoding: "utf8" });
      expect(run).toThrow(/The backup was not made, and earlier ones are unchanged/);
      expect((await readFile(file)).equals(before)).toBe(true);
      expect((await readdir(home.folder)).sort()).toEqual(["b.tar", "passphrase"]);
    }));

  test("rejects a short passphrase and arguments that mean nothing", () =>
    withBackupHome(async (home) => {
      await writeFile(join(home.folder, "short"), "secret\n");
      const words = `-tokens -passphrase-file ${home.folder}/short`;
      await expect(home.run(`backup ${home.folder}/b.tar ${words}`)).rejects.toThrow(/at least 12/);
      await expect(home.run(`backup ${home.folder}/b.tar -tokens`)).rejects.toThrow(/-passphrase-/);
      await expect(home.run("backup")).rejects.toThrow(/Name one file/);
      await expect(home.run("restore a b")).rejects.toThrow(/Name one file/);
    }));

  test("notes the last good backup, and why a later one failed", () =>
    withBackupHome(async (home, start) => {
      await start();
      expect((await home.run("status")).out).toMatch(/^Backup +none yet$/m);
      await home.run(`backup ${home.folder}/b.tar`);
      expect((await home.run("status")).out).toMatch(/^Backup +20.*b\.tar$/m);
      const last = expect.stringMatching(/The last good backup is of 20.*b\.tar/);
      const check = async (): Promise<object> =>
        (await home.run("doctor -json")).json().checks.find((one: any) => one.id === "backup");
      expect(await check()).toMatchObject({ result: "ok", reason: last });
      await noteFailed(home.home, "The disk is full.", Date.now());
      expect(await check()).toMatchObject({
        result: "warning",
        reason: expect.stringMatching(/^The disk is full.*b\.tar/),
      });
    }));
});
