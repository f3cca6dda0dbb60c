import { randomBytes } from "node:crypto";
import { closeSync, openSync, unlinkSync, writeSync } from "node:fs";
import { readFile, stat, unlink, utimes } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { targetOf } from "./atomic.ts";
import { errno, fileErrors } from "./errors.ts";
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

export interface FileLock {
  /** False when the lock was taken away: the process had been stopped for longer than 10 s. */
  held(): Promise<boolean>;
  release(): Promise<void>;
}

/** The exclusive right to `path` among processes, also for long: `.<name>.lock` beside it.
 *  Rejects `FILE_LOCKED` after `waitMs` (0: at once), or with the system's error when the lock cannot be made. */
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
    if (!found) continue;
    const now = performance.now();
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
  const held = async () => (await read(lock))?.content === content;
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

async function read(lock: string): Promise<Found | undefined> {
  try {
    const { mtimeMs, ino } = await stat(lock);
    const content = await readFile(lock, "utf8");
    const [machine = "", pid = "", start = "", nonce] = content.split(" ");
    const identity =
      nonce !== undefined && /^[0-9a-f]{16}$/.test(nonce) ? nonce : `${ino}-${Math.floor(mtimeMs)}`;
    const owner = { host: machine, pid: Number(pid), start: start === "-" ? "" : start };
    return { content, identity, ...owner, touchedAt: mtimeMs };
  } catch (error) {
    if (errno(error) === "ENOENT") return undefined;
    throw error;
  }
}

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
    const found = await stat(tombstone).catch(() => undefined);
    const isLeft = found && (watchedMs > 2 * staleMs || Date.now() - found.mtimeMs > staleMs);
    if (isLeft) await unlink(tombstone).catch(() => {}); // its maker was killed
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

const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));
