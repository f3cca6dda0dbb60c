// Watches files and reports changes of their content.
import { createHash } from "node:crypto";
import { watch, type FSWatcher } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { readBytes } from "./text.ts";

// Events of the operating system are only hints: they are lost on network folders, arrive twice, or
// arrive before the bytes. A change is a change of content, which is read when the folder has been
// quiet for 80 ms, and every 2 s in any case. The folder is watched instead of the file, because
// editors and mounts replace files by renaming. If the name is a symbolic link, the folder of the
// target is watched too.

const settleMs = 80;
/** The content is read after this time even if the folder never becomes quiet. */
const maxSettleMs = 1_000;
const pollMs = 2_000;

/** Fingerprints a content. Undefined means that there is no file. */
const digest = (content: string | Uint8Array | undefined): string =>
  content === undefined ? "missing" : createHash("sha256").update(content).digest("base64");

/**
 * A failed read counts as a state of its own, with the message as its value. Pipes and devices are
 * not read: a pipe would block a thread of the process at each read, and a device may have no end.
 */
const fingerprint = (path: string): Promise<string> =>
  readBytes(path).then(digest, (error: unknown) => (error as Error).message);

/** A watch that has begun. */
export interface FileWatch {
  stop(): void;
  /**
   * Says that the caller has replaced the content `before` (undefined: no file) by `after`. The
   * watch then does not report `after`, except if it has not yet reported `before`: another edit
   * would go unnoticed.
   */
  expect(path: string, before: string | undefined, after: string): void;
}

/**
 * Calls `changed` with each path whose content differs from the last read, and once for each path
 * at the start. A created, emptied or removed file counts as changed. Calls do not overlap: the
 * next one waits for the promise of the previous one.
 */
export function watchFiles(
  paths: readonly string[],
  changed: (path: string) => void | Promise<void>,
): FileWatch {
  return new ContentWatcher([...new Set(paths)], changed);
}

class ContentWatcher implements FileWatch {
  private readonly files: readonly string[];
  private readonly changed: (path: string) => void | Promise<void>;
  private readonly fingerprints = new Map<string, string>();
  private readonly folders = new Map<string, FSWatcher>();
  private readonly poll: NodeJS.Timeout;
  private timer: NodeJS.Timeout | undefined;
  private firstHintAt: number | undefined;
  private checking: Promise<void> | undefined;
  private checkAgain = false;
  private closed = false;

  constructor(files: readonly string[], changed: (path: string) => void | Promise<void>) {
    this.files = files;
    this.changed = changed;
    // The watcher of a removed folder reports nothing when the folder is created again.
    this.poll = setInterval(
      () => void this.hasChanges().then((hasChanges) => hasChanges && this.scheduleCheck()),
      pollMs,
    );
    this.poll.unref();
    void this.check();
  }

  expect(path: string, before: string | undefined, after: string): void {
    if (this.fingerprints.get(path) === digest(before)) this.fingerprints.set(path, digest(after));
  }

  stop(): void {
    this.closed = true;
    clearTimeout(this.timer);
    clearInterval(this.poll);
    for (const folder of [...this.folders.keys()]) this.unwatch(folder);
  }

  private scheduleCheck(): void {
    if (this.closed) return;
    this.firstHintAt ??= Date.now();
    const remainingMs = this.firstHintAt + maxSettleMs - Date.now();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.check(), Math.min(settleMs, Math.max(0, remainingMs)));
    this.timer.unref();
  }

  private async check(): Promise<void> {
    this.firstHintAt = undefined;
    this.checkAgain = true;
    this.checking ??= this.checkUntilUnchanged().finally(() => {
      this.checking = undefined;
    });
    await this.checking;
  }

  private async checkUntilUnchanged(): Promise<void> {
    while (this.checkAgain && !this.closed) {
      this.checkAgain = false;
      await this.checkOnce();
    }
  }

  private async checkOnce(): Promise<void> {
    await this.watchFolders();
    for (const path of this.files) {
      const current = await fingerprint(path);
      if (this.closed) return;
      if (this.fingerprints.get(path) === current) continue;
      this.fingerprints.set(path, current);
      await this.changed(path);
    }
  }

  private async hasChanges(): Promise<boolean> {
    const current = await Promise.all(this.files.map(fingerprint));
    return this.files.some((path, index) => this.fingerprints.get(path) !== current[index]);
  }

  private async watchFolders(): Promise<void> {
    const targets = await Promise.all(this.files.map((path) => realpath(path).catch(() => path)));
    if (this.closed) return;
    const wanted = new Set([...this.files, ...targets].map((path) => dirname(path)));
    for (const folder of this.folders.keys()) if (!wanted.has(folder)) this.unwatch(folder);
    for (const folder of wanted) this.watch(folder);
  }

  private watch(folder: string): void {
    if (this.folders.has(folder)) return;
    try {
      const watcher = watch(folder, { persistent: false }, (_, name) => {
        if (name === null || !isTemporaryFile(name)) this.scheduleCheck();
      });
      watcher.on("error", () => this.unwatch(folder));
      this.folders.set(folder, watcher);
    } catch {
      // The folder does not exist yet or cannot be watched. Polling still detects changes.
    }
  }

  private unwatch(folder: string): void {
    this.folders.get(folder)?.close();
    this.folders.delete(folder);
  }
}

/** Locks and temporary files of this module are created and removed at every write. */
const isTemporaryFile = (name: string): boolean => /^\..+\.(lock|tmp-)/.test(basename(name));

type FileReader<T> = (path: string) => Promise<T>;

/**
 * File systems record times in steps of up to 2 s. Two changes within one step may have the same
 * stamp.
 */
const timestampGranularityMs = 2_000;

/**
 * Identifies the present version of a file.
 *
 * @returns Undefined if the last change is too recent to be distinguished, or the file does not
 * exist.
 */
export async function fileStamp(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (!found || Date.now() - Number(found.ctimeMs) <= timestampGranularityMs) return undefined;
  return `${found.ino} ${found.ctimeNs} ${found.mtimeNs} ${found.size}`;
}

/**
 * Caches the result of `read` while the file is unchanged, because pages ask every second. Failures
 * are not cached.
 */
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
