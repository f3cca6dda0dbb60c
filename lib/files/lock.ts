import { randomBytes } from "node:crypto";
import { closeSync, constants, openSync, unlinkSync, writeSync, type Stats } from "node:fs";
import { lstat, open, unlink, utimes } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf } from "../../kernel/index.ts";
import { targetOf } from "./atomic.ts";
import { errno, fileErrors, reasonOf } from "./errors.ts";
import { host, isAlive, startOf } from "./process.ts";

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
  const target = await targetOf(path);
  const lock = join(dirname(target), `.${basename(target)}.lock`);
  const content = `${host} ${process.pid} ${startOf(process.pid) || "-"} ${randomBytes(8).toString("hex")}`;
  const begun = performance.now();
  let seen: Found | undefined;
  let seenAt = begun;
  while (!create(lock, content)) {
    const found = await read(lock);
    const now = performance.now();
    if (now - begun >= waitMs + graceMs)
      throw fileErrors.FILE_LOCKED(path, found ? holderOf(found) : manyHolders, {
        details: { path },
      });
    if (!found) continue; // released in between
    if (!isSame(found, seen)) seenAt = now;
    seen = found;
    if (isStale(found, now - seenAt)) await bury(lock, found, now - seenAt);
    else if (now - begun >= waitMs) {
      throw fileErrors.FILE_LOCKED(path, holderOf(found), { details: { path, pid: found.pid } });
    } else await pause(5 + Math.random() * 15);
  }
  return keep(lock, content);
}

function keep(lock: string, content: string): FileLock {
  const timer = setInterval(
    () => void utimes(lock, new Date(), new Date()).catch(() => {}),
    touchMs,
  );
  timer.unref();
  const held = async () => (await read(lock).catch(() => undefined))?.content === content;
  return {
    held,
    async release() {
      clearInterval(timer);
      if (await held()) await unlink(lock).catch(() => {});
    },
  };
}

function create(lock: string, content: string): boolean {
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
    if (errno(error) === "EEXIST") return false;
    throw error;
  }
}

interface Found {
  readonly content: string;
  readonly identity: string;
  readonly host: string;
  readonly pid: number;
  readonly start: string;
  readonly touchedAt: number;
}

/** Undefined: there is no lock. Rejects `FILE_LOCK_BLOCKED` for anything that is not a readable
 *  regular file. */
async function read(lock: string): Promise<Found | undefined> {
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
    if (errno(error) === "ENOENT") return undefined;
    if (codeOf(error) !== "internal") throw error;
    throw blocked(lock, `it cannot be read: ${reasonOf(error)}`, error);
  }
}

function parse(content: string, { mtimeMs, ino }: Stats): Found {
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

const isSame = (found: Found, before: Found | undefined): boolean =>
  found.identity === before?.identity && found.touchedAt === before.touchedAt;

/** `watchedMs`: for how long it has been seen untouched. The time of the file counts where nothing tells who lives. */
function isStale({ content, touchedAt, ...owner }: Found, watchedMs: number): boolean {
  const isOurs = owner.host === host;
  if (isOurs && !isAlive(owner.pid, owner.start)) return true;
  const limit = content === "" ? emptyMs : staleMs;
  const isKnown = isOurs && owner.start !== "";
  return watchedMs > limit || (!isKnown && Date.now() - touchedAt > limit);
}

async function bury(lock: string, stale: Found, watchedMs: number): Promise<void> {
  const tombstone = `${lock}.${stale.identity}`;
  if (!create(tombstone, "")) {
    const found = await lstat(tombstone).catch(() => undefined);
    if (found) requireFile(tombstone, found);
    const isLeft = found && (watchedMs > 2 * staleMs || Date.now() - found.mtimeMs > staleMs);
    if (isLeft) await remove(tombstone); // its maker was killed
    return pause(5);
  }
  try {
    const now = await read(lock);
    if (now && isSame(now, stale)) await remove(lock);
  } finally {
    await unlink(tombstone).catch(() => {});
  }
}

/** Rejects when it stays, as another user's does in a shared folder: trying again would go on for ever. */
const remove = (path: string): Promise<void> =>
  unlink(path).catch((error: unknown) => {
    if (errno(error) !== "ENOENT") throw error;
  });

const holderOf = (found: Found) =>
  found.host === host
    ? `another process (${found.pid})`
    : "a process on another machine or in another container";

const manyHolders = "other processes, one after the other";

const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));
