// The folder that the program may send files from: one of the owner, or a private one per run.
import { lstat, mkdtemp, readdir, readlink, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAlive, processStartTime } from "../../lib/files/index.ts";

export interface AnswerFolder {
  readonly path: string;
  /** Deletes the folder, if Doorward has made it. */
  remove(): Promise<void>;
}

const namePattern = /^doorward-media-(\d{1,20})-(\d{1,10})-(\d{1,20})-[A-Za-z0-9]{6}$/;
const removeAll = (path: string): Promise<void> => rm(path, { recursive: true, force: true });

/** Ids of processes have a meaning only in their own namespace: containers may share the folder. */
async function namespaceOf(): Promise<string> {
  const link = await readlink("/proc/self/ns/pid").catch(() => "");
  return /\d+/.exec(link)?.[0] ?? "0";
}

/** Deletes the folders of processes that were killed. A folder that cannot be deleted stays. */
async function removeLeftovers(parent: string, namespace: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const [, where, pid, start] = namePattern.exec(name) ?? [];
    if (where !== namespace || isAlive(Number(pid), start === "0" ? "" : start)) continue;
    const path = join(parent, name);
    const found = await lstat(path).catch(() => undefined);
    const isOwn = !process.geteuid || found?.uid === process.geteuid();
    if (found?.isDirectory() && isOwn) await removeAll(path).catch(() => undefined);
  }
}

/** @param given - A folder of the owner. Without it, a private one is made for this run. */
export async function openAnswerFolder(given: string | undefined): Promise<AnswerFolder> {
  if (given !== undefined) return { path: given, remove: async () => undefined };
  const parent = tmpdir();
  const namespace = await namespaceOf();
  await removeLeftovers(parent, namespace).catch(() => undefined);
  const { pid } = process;
  const start = processStartTime(pid) || "0";
  const path = await mkdtemp(join(parent, `doorward-media-${namespace}-${pid}-${start}-`));
  return { path, remove: () => removeAll(path) };
}
