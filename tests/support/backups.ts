// Homes with conversations and files, and archives for backups.
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { names, sumLine } from "../../config/backup/content.ts";
import { ArchiveWriter } from "../../config/backup/tar.ts";
import type { Launcher } from "../../config/presets/launcher.ts";
import type { CommandLine } from "./command-context.ts";
import { withCommandLine } from "./command-context.ts";

export const picoToken = "feedfacecafe".repeat(5);
export const launcherToken = "correct-horse-battery-staple";
export const passphrase = "a long passphrase of words";

/** Runs a visit with a folder that is removed afterwards. */
export async function withFolder(visit: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "doorward-backup-"));
  try {
    await visit(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export interface BackupHome extends CommandLine {
  /** A folder for backups. */
  readonly folder: string;
  /** Sends a message to the running launcher, whose echo answers it. */
  send(session: string, content: string, media?: readonly { id: string }[]): Promise<void>;
  /** Uploads a file. */
  upload(session: string, content: string): Promise<string>;
}

/** A home with both tokens and the channel on. */
export const withBackupHome = (
  visit: (home: BackupHome, start: CommandLine["start"]) => Promise<void>,
  env: Record<string, string> = {},
): Promise<void> =>
  withFolder((folder) =>
    withCommandLine(async (cli) => {
      await cli.write("launcher-config.json", { launcher_token: launcherToken, port: 0 });
      await cli.write("config.json", { channels: { pico: { enabled: true } } });
      await cli.write(".security.yml", `channels:\n  pico:\n    token: "${picoToken}"\n`);
      await writeFile(join(folder, "passphrase"), `${passphrase}\n`);
      let base: URL | undefined;
      const request = async (path: string, init: RequestInit): Promise<any> => {
        const headers = { authorization: `Bearer ${picoToken}`, ...init.headers };
        const answer = await fetch(new URL(path, base), { method: "POST", ...init, headers });
        if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
        return answer.json();
      };
      const home: BackupHome = {
        ...cli,
        folder,
        async send(session, content, media) {
          const body = JSON.stringify({ session_id: session, content, media });
          const headers = { "content-type": "application/json" };
          await request("/pico/messages?wait=20", { body, headers });
        },
        upload: async (session, body) =>
          (await request(`/pico/media?session_id=${session}`, { body })).id,
      };
      const start: CommandLine["start"] = async () => {
        const started = await cli.start();
        base = started.base;
        return started;
      };
      await visit(home, start);
    }, env),
  );

/** Returns every conversation with its turns, without what a copy changes. */
export async function allTurns({ services }: Launcher): Promise<unknown[]> {
  const { conversations } = services;
  const { items } = await conversations.list({ limit: 100 });
  const found = items.map(async (one) => {
    const { items: turns } = await conversations.read(one.id, { limit: 100 });
    return { id: one.id, title: one.title, session: one.session, turns };
  });
  return Promise.all(found);
}

/** Returns all files below a folder with their content, by path. */
export async function filesIn(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const found: Record<string, string> = {};
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    found[path.slice(folder.length + 1)] = await readFile(path, "latin1");
  }
  return found;
}

export interface HandMade {
  readonly header?: object;
  readonly files?: Readonly<Record<string, string | Buffer>>;
  /** Entries after the list of files. */
  readonly after?: Readonly<Record<string, string>>;
  /** Changes the list of files. */
  readonly sums?: (text: string) => string;
}

export const header = {
  format: 1,
  version: "0.0.0",
  createdAt: "2026-01-02T03:04:05.000Z",
  tokens: false,
  store: { kind: "none" },
};

/** Writes a backup with any entries. */
export async function writeByHand(path: string, made: HandMade = {}): Promise<void> {
  await mkdir(join(path, ".."), { recursive: true });
  const file = await open(path, "w");
  const writer = new ArchiveWriter(file);
  let list = "";
  const add = async (name: string, text: string | Buffer): Promise<void> => {
    const content = Buffer.from(text as string);
    const entry = { name, size: content.length, mode: 0o600, mtime: 1_700_000_000 };
    await writer.add(entry, Readable.from(content.length > 0 ? [content] : []));
    list += sumLine(name, createHash("sha256").update(content).digest("hex"));
  };
  try {
    await add(names.header, JSON.stringify(made.header ?? header));
    for (const [name, text] of Object.entries(made.files ?? {})) await add(name, text);
    await add(names.sums, (made.sums ?? ((text) => text))(list));
    for (const [name, text] of Object.entries(made.after ?? {})) await add(name, text);
    await writer.finish();
  } finally {
    await file.close();
  }
}
