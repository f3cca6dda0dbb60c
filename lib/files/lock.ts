// Locks a file between processes, and identifies this host and the processes on it.
import { createHash, randomBytes } from "node:crypto";
import { closeSync, openSync, readFileSync, unlinkSync, writeSync, type Stats } from "node:fs";
import { lstat, readlink, realpath, unlink, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { codeOf } from "../../kernel/index.ts";
import { errnoOf, fileErrors, describeErrno } from "./errors.ts";
import { openRegularFile } from "./text.ts";

/*
 * A lock is a file created with O_EXCL. Its content names the holder: `host pid start nonce`. The
 * holder touches it every 2 s. A lock is stale if its process on this host has ended, or if it has
 * not been touched for 10 s (the holder is suspended, or runs on another host). The 10 s are
 * measured while waiting, because file times depend on the system clock.
 *
 * The process that first creates a tombstone, which is named after the nonce of the stale lock, may
 * remove the lock. A nonce is never used again. A second process that creates the same tombstone
 * later finds a different lock and leaves it alone.
 */

const staleMs = 10_000;
const touchMs = 2_000;
/**
 * For a lock without content: its creator died between the two system calls, or is between them
 * now.
 */
const emptyMs = 1_000;
/** A lock has about 60 bytes; a read stops at this limit. */
const maxLockBytes = 256;
/**
 * Time in addition to the caller's wait, for the removal of a stale lock. It ends the wait for a
 * lock that other processes take again and again.
 */
const graceMs = 3 * staleMs;

export interface FileLock {
  /**
   * False if another process has removed the lock, because this one was suspended for more than 10
   * s.
   */
  held(): Promise<boolean>;
  release(): Promise<void>;
}

/**
 * Locks `path` against other processes with the file `.<name>.lock` in the same folder. The lock
 * may be kept for any time.
 *
 * @param options.waitMs - Milliseconds to wait for another holder; 0 does not wait. @defaultValue
 * 15,000
 * @throws FILE_LOCKED if another process still holds the lock after `waitMs`.
 * @throws FILE_LOCK_BLOCKED if something that is not a lock file has the name of the lock. If the
 * lock file cannot be created, the error of the system is thrown unchanged.
 */
export async function lockFile(
  path: string,
  { waitMs = 15_000 }: { waitMs?: number } = {},
): Promise<FileLock> {
  const target = await resolveTarget(path);
  const lock = join(dirname(target), `.${basename(target)}.lock`);
  const start = processStartTime(process.pid) || "-";
  const content = `${hostId} ${process.pid} ${start} ${randomBytes(8).toString("hex")}`;
  const startedAt = performance.now();
  let seen: LockRecord | undefined;
  let seenAt = startedAt;
  while (!createLockFile(lock, content)) {
    const lockRecord = await readLock(lock);
    const now = performance.now();
    if (now - startedAt >= waitMs + graceMs)
      throw fileErrors.FILE_LOCKED(path, lockRecord ? describeHolder(lockRecord) : manyHolders, {
        details: { path },
      });
    if (!lockRecord) continue; // The holder has released it in the meantime.
    if (!isUnchanged(lockRecord, seen)) seenAt = now;
    seen = lockRecord;
    if (isStale(lockRecord, now - seenAt)) await removeStaleLock(lock, lockRecord, now - seenAt);
    else if (now - startedAt >= waitMs) {
      throw fileErrors.FILE_LOCKED(path, describeHolder(lockRecord), {
        details: { path, pid: lockRecord.pid },
      });
    } else await sleep(5 + Math.random() * 15);
  }
  return holdLock(lock, content);
}

function holdLock(lock: string, content: string): FileLock {
  const timer = setInterval(
    () => void utimes(lock, new Date(), new Date()).catch(() => {}),
    touchMs,
  );
  timer.unref();
  const held = async () => (await readLock(lock).catch(() => undefined))?.content === content;
  return {
    held,
    async release() {
      clearInterval(timer);
      if (await held()) await unlink(lock).catch(() => {});
    },
  };
}

function createLockFile(lock: string, content: string): boolean {
  try {
    const file = openSync(lock, "wx", 0o600);
    try {
      writeSync(file, content);
    } catch (error) {
      unlinkSync(lock); // A full disk accepts the name but not the content.
      throw error;
    } finally {
      closeSync(file);
    }
    return true;
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false;
    throw error;
  }
}

interface LockRecord {
  readonly content: string;
  readonly identity: string;
  readonly host: string;
  readonly pid: number;
  readonly start: string;
  readonly touchedAt: number;
}

/**
 * @returns Undefined if there is no lock.
 * @throws FILE_LOCK_BLOCKED for anything that is not a readable regular file.
 */
async function readLock(lock: string): Promise<LockRecord | undefined> {
  try {
    requireFile(lock, await lstat(lock));
    const file = await openRegularFile(lock, "read", { follow: false });
    try {
      const found = await file.stat();
      const { buffer, bytesRead } = await file.read(Buffer.alloc(maxLockBytes), 0, maxLockBytes, 0);
      return parse(buffer.toString("utf8", 0, bytesRead), found);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    if (codeOf(error) !== "internal") throw error;
    throw blocked(lock, `it cannot be read: ${describeErrno(error)}`, error);
  }
}

function parse(content: string, { mtimeMs, ino }: Stats): LockRecord {
  const [machine = "", pid = "", start = "", nonce] = content.split(" ");
  const identity =
    nonce !== undefined && /^[0-9a-f]{16}$/.test(nonce) ? nonce : `${ino}-${Math.floor(mtimeMs)}`;
  const owner = { host: machine, pid: Number(pid), start: start === "-" ? "" : start };
  return { content, identity, ...owner, touchedAt: mtimeMs };
}

function requireFile(path: string, found: Stats): void {
  if (found.isFile()) return;
  const kinds = [
    [found.isSymbolicLink(), "it is a symbolic link"],
    [found.isDirectory(), "it is a folder"],
    [found.isFIFO(), "it is a pipe"],
    [found.isSocket(), "it is a socket"],
  ] as const;
  const kind = kinds.find(([matches]) => matches)?.[1] ?? "it is not a regular file";
  throw blocked(path, kind);
}

const blocked = (path: string, problem: string, cause?: unknown) =>
  fileErrors.FILE_LOCK_BLOCKED(path, problem, { details: { path }, cause });

const isUnchanged = (lockRecord: LockRecord, before: LockRecord | undefined): boolean =>
  lockRecord.identity === before?.identity && lockRecord.touchedAt === before.touchedAt;

/**
 * Without a process to check, the time of the file counts too.
 *
 * @param watchedMs - For how long this process has seen the lock untouched.
 */
function isStale({ content, touchedAt, ...owner }: LockRecord, watchedMs: number): boolean {
  const isLocal = owner.host === hostId;
  if (isLocal && !isAlive(owner.pid, owner.start)) return true;
  const limit = content === "" ? emptyMs : staleMs;
  const isKnown = isLocal && owner.start !== "";
  return watchedMs > limit || (!isKnown && Date.now() - touchedAt > limit);
}

async function removeStaleLock(lock: string, stale: LockRecord, watchedMs: number): Promise<void> {
  const tombstone = `${lock}.${stale.identity}`;
  if (!createLockFile(tombstone, "")) {
    const found = await lstat(tombstone).catch(() => undefined);
    if (found) requireFile(tombstone, found);
    const isLeft = found && (watchedMs > 2 * staleMs || Date.now() - found.mtimeMs > staleMs);
    if (isLeft) await unlinkIfPresent(tombstone); // Its creator was killed.
    return sleep(5);
  }
  try {
    const now = await readLock(lock);
    if (now && isUnchanged(now, stale)) await unlinkIfPresent(lock);
  } finally {
    await unlink(tombstone).catch(() => {});
  }
}

/**
 * Rejects if the file cannot be removed, for example the file of another user in a shared folder.
 * Retrying would never end.
 */
const unlinkIfPresent = (path: string): Promise<void> =>
  unlink(path).catch((error: unknown) => {
    if (errnoOf(error) !== "ENOENT") throw error;
  });

const describeHolder = (lockRecord: LockRecord) =>
  lockRecord.host === hostId
    ? `another process (${lockRecord.pid})`
    : "a process on another machine or in another container";

const manyHolders = "other processes, one after the other";

const sleep = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

/** The file that `path` names after all symbolic links, also if the target does not exist yet. */
export async function resolveTarget(path: string): Promise<string> {
  let current = resolve(path);
  for (let links = 0; links < 40; links++) {
    const real = await realpath(current).catch((error: unknown) => {
      if (errnoOf(error) !== "ENOENT") throw error;
    });
    if (real !== undefined) return real;
    const link = await readlink(current).catch(() => undefined);
    if (link === undefined) return join(await realpath(dirname(current)), basename(current));
    current = resolve(dirname(current), link);
  }
  throw Object.assign(new Error("too many symbolic links"), { code: "ELOOP" });
}

/**
 * Eight hex digits that distinguish this machine or container from others that mount the same
 * folder.
 */
export const hostId = createHash("sha256").update(hostname()).digest("hex").slice(0, 8);

/**
 * On Linux: the start time of the process, and whether it is a zombie. Zombies remain in containers
 * whose first process does not collect exit statuses.
 */
function readProcStat(pid: number): { start: string; isOver: boolean } {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field is the program name in parentheses and may contain anything. Fields 3 and 22
    // are the state and the start time.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { start: fields[19] ?? "", isOver: fields[0] === "Z" || fields[0] === "X" };
  } catch {
    return { start: "", isOver: false };
  }
}

/**
 * The start time distinguishes a process from a later one with the same pid.
 *
 * @returns An empty string if the system does not provide it.
 */
export const processStartTime = (pid: number): string => readProcStat(pid).start;

/** Whether the process runs on this host. With `start`, whether it is still the same process. */
export function isAlive(pid: number, start = ""): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  const now = readProcStat(pid);
  return !now.isOver && (start === "" || now.start === "" || now.start === start);
}
