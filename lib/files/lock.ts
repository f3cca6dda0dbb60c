import { randomBytes } from "node:crypto";
import { closeSync, constants, openSync, unlinkSync, writeSync, type Stats } from "node:fs";
import { lstat, open, unlink, utimes } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf } from "../../kernel/index.ts";
import { resolveTarget } from "./atomic-write.ts";
import { errnoOf, fileErrors, describeErrno } from "./errors.ts";
import { hostId, isAlive, processStartTime } from "./process.ts";

/* A lock is a file made with O_EXCL that says who holds it: `host pid start nonce`. The holder touches it while it
 * lives. It is stale when its process is dead on this host, or when nobody touched it for 10 s (holder stopped, or on
 * another host), which is found by watching it: clocks are set. A stale lock is removed by whoever first makes the
 * tombstone named after its nonce: since a nonce never comes back, a late rival that makes the tombstone again finds
 * another lock and leaves it alone. */

const staleMs = 10_000;
const touchMs = 2_000;
/** A lock without content: its maker died between the two system calls, or is in between them now. */
const emptyMs = 1_000;
/** A lock has some 60 bytes; nothing longer is read. */
const maxLockBytes = 256;
/** Beyond the caller's wait and the removal of a stale lock. Locks that come and go this long are
 *  not waited for. */
const graceMs = 3 * staleMs;

export interface FileLock {
  /** False when the lock was taken away: the process had been stopped for longer than 10 s. */
  held(): Promise<boolean>;
  release(): Promise<void>;
}

/** The exclusive right to `path` among processes, also for long: `.<name>.lock` beside it. Rejects
 *  `FILE_LOCKED` after `waitMs` (0: without waiting), `FILE_LOCK_BLOCKED` when something that is
 *  not a lock has its name, or with the system's error when the lock cannot be made. */
export async function lockFile(
  path: string,
  { waitMs = 15_000 }: { waitMs?: number } = {},
): Promise<FileLock> {
  const target = await resolveTarget(path);
  const lock = join(dirname(target), `.${basename(target)}.lock`);
  const content = `${hostId} ${process.pid} ${processStartTime(process.pid) || "-"} ${randomBytes(8).toString("hex")}`;
  const begun = performance.now();
  let seen: LockRecord | undefined;
  let seenAt = begun;
  while (!createLockFile(lock, content)) {
    const lockRecord = await readLock(lock);
    const now = performance.now();
    if (now - begun >= waitMs + graceMs)
      throw fileErrors.FILE_LOCKED(path, lockRecord ? describeHolder(lockRecord) : manyHolders, {
        details: { path },
      });
    if (!lockRecord) continue; // released in between
    if (!isUnchanged(lockRecord, seen)) seenAt = now;
    seen = lockRecord;
    if (isStale(lockRecord, now - seenAt)) await removeStaleLock(lock, lockRecord, now - seenAt);
    else if (now - begun >= waitMs) {
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
      unlinkSync(lock); // a full disk takes the name and not the content
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

/** Undefined: there is no lock. Rejects `FILE_LOCK_BLOCKED` for anything that is not a readable
 *  regular file. */
async function readLock(lock: string): Promise<LockRecord | undefined> {
  try {
    // Before it is opened: opening a device can act.
    requireFile(lock, await lstat(lock));
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants; // undefined on Windows
    const file = await open(lock, O_RDONLY | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0));
    try {
      const found = await file.stat();
      requireFile(lock, found); // it may have been replaced since
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
  const kind = kinds.find(([is]) => is)?.[1] ?? "it is not a regular file";
  throw blocked(path, kind);
}

const blocked = (path: string, problem: string, cause?: unknown) =>
  fileErrors.FILE_LOCK_BLOCKED(path, problem, { details: { path }, cause });

const isUnchanged = (lockRecord: LockRecord, before: LockRecord | undefined): boolean =>
  lockRecord.identity === before?.identity && lockRecord.touchedAt === before.touchedAt;

/** `watchedMs`: for how long it has been seen untouched. The time of the file counts where nothing tells who lives. */
function isStale({ content, touchedAt, ...owner }: LockRecord, watchedMs: number): boolean {
  const isOurs = owner.host === hostId;
  if (isOurs && !isAlive(owner.pid, owner.start)) return true;
  const limit = content === "" ? emptyMs : staleMs;
  const isKnown = isOurs && owner.start !== "";
  return watchedMs > limit || (!isKnown && Date.now() - touchedAt > limit);
}

async function removeStaleLock(lock: string, stale: LockRecord, watchedMs: number): Promise<void> {
  const tombstone = `${lock}.${stale.identity}`;
  if (!createLockFile(tombstone, "")) {
    const found = await lstat(tombstone).catch(() => undefined);
    if (found) requireFile(tombstone, found);
    const isLeft = found && (watchedMs > 2 * staleMs || Date.now() - found.mtimeMs > staleMs);
    if (isLeft) await unlinkIfPresent(tombstone); // its maker was killed
    return sleep(5);
  }
  try {
    const now = await readLock(lock);
    if (now && isUnchanged(now, stale)) await unlinkIfPresent(lock);
  } finally {
    await unlink(tombstone).catch(() => {});
  }
}

/** Rejects when it stays, as another user's does in a shared folder: trying again would go on for ever. */
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
