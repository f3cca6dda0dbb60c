// Kills backups and restores at any moment, while a client writes.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { startLauncher, type RunningLauncher } from "../e2e/launcher.ts";
import { launcherToken, passphrase, picoToken } from "../support/backups.ts";
import { rounds } from "../support/runs.ts";

const program = join(import.meta.dirname, "../../dist/bin/doorward.js");
const args = ["-console", "-no-browser", "-no-tray", "-port", "0"];

interface Ended {
  readonly code: number | null;
  readonly text: string;
}

/** A command of the home, which a test may kill. */
function command(home: string, ...words: string[]): { child: ChildProcess; ended: Promise<Ended> } {
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, SERVICE_HOME: home };
  const child = spawn(process.execPath, [program, ...words], { env, stdio: "pipe" });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, text }));
  return { child, ended };
}

/** Kills a command after a part of the time that it takes. @returns Its end. */
async function killed(home: string, ms: number, words: readonly string[]): Promise<Ended> {
  const { child, ended } = command(home, ...words);
  const timer = setTimeout(() => child.kill("SIGKILL"), ms);
  const result = await ended;
  clearTimeout(timer);
  return result;
}

async function request(base: URL, path: string, init: RequestInit): Promise<Response> {
  const headers = { authorization: `Bearer ${picoToken}`, ...init.headers };
  return fetch(new URL(path, base), { method: "POST", ...init, headers });
}

/** Writes messages until it is stopped. */
function startWriter(base: URL) {
  const accepted: string[] = [];
  let isStopped = false;
  const write = async (): Promise<void> => {
    for (let number = 0; !isStopped; number += 1) {
      const content = `message ${accepted.length}-${number}`;
      const body = JSON.stringify({ session_id: "s", id: content, content });
      const headers = { "content-type": "application/json" };
      const answer = await request(base, "/pico/messages", { body, headers });
      if (answer.status === 202) accepted.push(content);
    }
  };
  const done = write();
  return {
    accepted,
    async stop() {
      isStopped = true;
      await done;
    },
  };
}

/** @returns The texts of users in the conversation of the writer. */
async function textsOf(home: string): Promise<string[]> {
  const { ended } = command(home, "conversations", "list", "-json");
  const { conversations } = JSON.parse((await ended).text) as { conversations: { id: string }[] };
  const [first] = conversations;
  const exported = await command(home, "conversations", "export", first!.id).ended;
  const { turns } = JSON.parse(exported.text) as { turns: { role: string; content: string }[] };
  return turns.filter(({ role }) => role === "user").map(({ content }) => content);
}

async function prepare(root: string): Promise<string> {
  const home = join(root, "home");
  await mkdir(home, { mode: 0o700 });
  const files = {
    "launcher-config.json": JSON.stringify({ launcher_token: launcherToken }),
    "config.json": JSON.stringify({ channels: { pico: { enabled: true } } }),
    ".security.yml": `channels:\n  pico:\n    token: "${picoToken}"\n`,
  };
  for (const [name, text] of Object.entries(files))
    await writeFile(join(home, name), text, { mode: 0o600 });
  await writeFile(join(root, "passphrase"), passphrase);
  return home;
}

/** The files that describe a home, without its conversations. */
async function settingsOf(home: string): Promise<string> {
  const names = ["config.json", "launcher-config.json", ".security.yml"];
  return (await Promise.all(names.map((name) => readFile(join(home, name), "utf8")))).join("\n");
}

const start = (home: string): Promise<RunningLauncher> =>
  startLauncher({ args, env: { SERVICE_HOME: home } });

test("keeps every accepted message, whenever a backup or restore is killed", async () => {
  const root = await mkdtemp(join(tmpdir(), "doorward-backup-kills-"));
  try {
    const home = await prepare(root);
    const file = join(root, "b.tar");
    const words = ["-tokens", "-passphrase-file", join(root, "passphrase")];
    let known: readonly string[] = [];
    {
      await using launcher = await start(home);
      await request(launcher.base, "/pico/media?session_id=s", { body: "x".repeat(300_000) });
      const writer = startWriter(launcher.base);
      const whole = async (): Promise<void> => {
        const before = [...writer.accepted];
        const { code, text } = await command(home, "backup", file, ...words).ended;
        expect(text).toContain("is complete and was checked");
        expect(code).toBe(0);
        known = before;
      };
      await whole();
      const kills = fc.sample(fc.integer({ min: 30, max: 900 }), rounds(40));
      for (const ms of kills) {
        const before = [...writer.accepted];
        const { code } = await killed(home, ms, ["backup", file, ...words]);
        if (code === 0) known = before;
        // The file is the earlier backup or the new one: restoring it elsewhere succeeds.
        const other = join(root, "other");
        const { text } = await command(other, "restore", file, ...words.slice(1)).ended;
        expect(text).toContain("has the state of");
        await rm(other, { recursive: true });
      }
      await whole();
      expect((await readdir(root)).filter((name) => name.includes(".part"))).toEqual([]);
      await writer.stop();
      launcher.child.kill("SIGTERM");
      await launcher.ended;
    }
    const settings = await settingsOf(home);
    await restoreWithKills({ root, home, file, words: words.slice(1), settings, known });
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});

interface Restored {
  readonly root: string;
  readonly home: string;
  readonly file: string;
  readonly words: readonly string[];
  readonly settings: string;
  readonly known: readonly string[];
}

/** The home is the former one, the restored one, or moved aside, and the next attempt succeeds. */
async function restoreWithKills(given: Restored): Promise<void> {
  const { root, home, file, words, settings, known } = given;
  const restore = ["restore", file, "-replace", ...words];
  for (const ms of fc.sample(fc.integer({ min: 30, max: 1_200 }), rounds(40))) {
    await killed(home, ms, restore);
    const names = await readdir(root);
    const aside = names.filter((name) => name.startsWith("home.before-restore-"));
    if (names.includes("home")) expect(await settingsOf(home)).toBe(settings);
    else expect(await settingsOf(join(root, aside.at(-1)!))).toBe(settings);
    const { code, text } = await command(home, ...restore).ended;
    expect(text).toContain("has the state of");
    expect(code).toBe(0);
    expect((await readdir(root)).filter((name) => /\.restoring|\.part/.test(name))).toEqual([]);
    for (const name of await readdir(root))
      if (name.startsWith("home.before-")) await rm(join(root, name), { recursive: true });
  }
  expect(await settingsOf(home)).toBe(settings);
  await using launcher = await start(home);
  expect(launcher.base.href).toContain("127.0.0.1");
  const texts = await textsOf(home);
  expect(texts).toEqual(expect.arrayContaining([...known]));
  expect(known.length).toBeGreaterThan(0);
}

test("does not start a home whose restore was killed", async () => {
  const root = await mkdtemp(join(tmpdir(), "doorward-backup-kills-"));
  try {
    const home = await prepare(root);
    await rename(home, join(root, ".home.restoring"));
    const { code, text } = await command(home, ...args).ended;
    expect(text).toMatch(/A restore of this home was interrupted/);
    expect(code).toBe(1);
    await rename(join(root, ".home.restoring"), home);
    await using launcher = await start(home);
    expect(launcher.base.href).toContain("127.0.0.1");
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});
