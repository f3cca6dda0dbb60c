import { createHash } from "node:crypto";
import { watch, type FSWatcher } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { readBytes } from "./text.ts";

/* Events of the system are hints, not facts: they are lost on network folders, come twice, or come before the bytes.
 * What counts is the content: read when the folder has been quiet for a moment, and every two seconds in any case. The
 * folder is watched and not the file, since editors and mounts replace files by renaming: the folder of the name, and
 * that of the target when the name is a symbolic link. */

const settleMs = 80;
/** A folder in which something happens all the time is looked at nevertheless. */
const maxSettleMs = 1_000;
const pollMs = 2_000;

/** Content that cannot be read counts as a state of its own: its reader says why. Pipes and devices are not read: one
 *  would hold a thread of the process at each look, the other has no end. */
const fingerprint = (path: string): Promise<string> =>
  readBytes(path).then(
    (bytes) => (bytes ? createHash("sha256").update(bytes).digest("base64") : "missing"),
    (error: unknown) => (error as Error).message,
  );

/** Calls `changed` with each path whose content is another than when it was looked at last; once for each at the start.
 *  Made, emptied and removed files are changes too. Calls come one at a time, and the next waits for a promise. */
export function watchFiles(
  paths: readonly string[],
  changed: (path: string) => void | Promise<void>,
): () => void {
  const files = [...new Set(paths)];
  const seen = new Map<string, string>();
  const folders = new Map<string, FSWatcher>();
  let timer: NodeJS.Timeout | undefined;
  let waitingSince: number | undefined;
  let looking: Promise<void> | undefined;
  let again = false;
  let closed = false;

  function hint(): void {
    if (closed) return;
    waitingSince ??= Date.now();
    const wait = Math.min(settleMs, Math.max(0, waitingSince + maxSettleMs - Date.now()));
    clearTimeout(timer);
    timer = setTimeout(() => void look(), wait);
    timer.unref();
  }

  function listen(folder: string): void {
    if (folders.has(folder)) return;
    try {
      const watcher = watch(folder, { persistent: false }, (_, name) => {
        if (name === null || !isTemporaryFile(name)) hint();
      });
      watcher.on("error", () => forget(folder));
      folders.set(folder, watcher);
    } catch {
      // No such folder yet, or none that can be watched: the slow look remains.
    }
  }
  function forget(folder: string): void {
    folders.get(folder)?.close();
    folders.delete(folder);
  }
  async function arm(): Promise<void> {
    const targets = await Promise.all(files.map((path) => realpath(path).catch(() => path)));
    if (closed) return;
    const wanted = new Set([...files, ...targets].map((path) => dirname(path)));
    for (const folder of folders.keys()) if (!wanted.has(folder)) forget(folder);
    for (const folder of wanted) listen(folder);
  }

  async function lookOnce(): Promise<void> {
    await arm();
    for (const path of files) {
      const now = await fingerprint(path);
      if (closed) return;
      if (seen.get(path) === now) continue;
      seen.set(path, now);
      await changed(path);
    }
  }
  async function look(): Promise<void> {
    waitingSince = undefined;
    again = true;
    looking ??= (async () => {
      while (again && !closed) {
        again = false;
        await lookOnce();
      }
    })().finally(() => {
      looking = undefined;
    });
    await looking;
  }

  const poll = setInterval(() => {
    // A folder that was removed and made again reports nothing on its old watch.
    void anyDiffers().then((differs) => differs && hint());
  }, pollMs);
  poll.unref();
  async function anyDiffers(): Promise<boolean> {
    const now = await Promise.all(files.map(fingerprint));
    return files.some((path, at) => seen.get(path) !== now[at]);
  }
  void look();

  return () => {
    closed = true;
    clearTimeout(timer);
    clearInterval(poll);
    for (const folder of [...folders.keys()]) forget(folder);
  };
}

/** Our own locks and temporary files come and go at every write. */
const isTemporaryFile = (name: string): boolean => /^\..+\.(lock|tmp-)/.test(basename(name));

type FileReader<T> = (path: string) => Promise<T>;

/** File systems tell time in ticks of milliseconds up to two seconds: within one a file may change again unseen. */
const timestampGranularityMs = 2_000;

/** Another text whenever the file is another one; undefined while it is too young to tell, and when there is none. */
export async function fileStamp(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (!found || Date.now() - Number(found.ctimeMs) <= timestampGranularityMs) return undefined;
  return `${found.ino} ${found.ctimeNs} ${found.mtimeNs} ${found.size}`;
}

/** `read`, but a file that is the same as before is not read again: pages ask every second. Failures are not kept. */
export function cachedByStamp<T>(read: FileReader<T>): FileReader<T> {
  const known = new Map<string, { readonly stamp: string; readonly content: T }>();
  return async (path) => {
    const stamp = await fileStamp(path);
    const before = known.get(path);
    if (stamp !== undefined && before?.stamp === stamp) return before.content;
    const content = await read(path);
    if (stamp !== undefined) known.set(path, { stamp, content });
    else known.delete(path);
    return content;
  };
}
