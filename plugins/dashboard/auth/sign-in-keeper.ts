/** Keeps sign-ins over a restart (`launcher.keep_sign_ins`): their records and cookie key, in one 0600 file. @module */
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import * as z from "zod";
import { codeOf, type Log } from "../../../kernel/index.ts";
import type { FileLock } from "../../../lib/files/index.ts";
import { isRandomHostName, randomHostName } from "./private-host.ts";
import { maxSessions, type SessionRecord } from "./sessions.ts";

/** The content of `state/sign-ins.json`, with at most 25 sign-ins. */
const keptSignIns = z.object({
  version: z.literal(1),
  key: z.string().regex(/^[\w-]{43}$/),
  hostName: z.string().refine(isRandomHostName),
  signIns: z
    .array(
      z.object({
        digest: z.string().regex(/^[0-9a-f]{64}$/),
        createdAt: z.int(),
        expiresAt: z.int(),
        lastUsedAt: z.int(),
        used: z.boolean(),
        address: z.string().max(100),
        userAgent: z.string().max(300),
        maker: z.string().optional(),
      }),
    )
    .max(maxSessions),
});

export interface KeeperOptions {
  /** Undefined: this deployment has no file for sign-ins. */
  readonly file: string | undefined;
  readonly log: Log;
  readonly random: (bytes: number) => Uint8Array;
  /** The sign-ins as they are now. */
  readonly records: () => readonly SessionRecord[];
}

/**
 * The salt of the key that signs session cookies, and the private host name for which browsers hold them: new at each
 * start, or those of the start before.
 *
 * The file alone opens nothing: a cookie's secret is there as a digest only, and its key also needs the launcher token.
 */
export interface SignInKeeper {
  /** 32 bytes. */
  salt(): Uint8Array;
  hostName(): string;
  /** At the start: the stored sign-ins, when they are to be kept. Otherwise removes what an earlier start left. */
  open(isOn: boolean): Promise<readonly SessionRecord[]>;
  /** While it runs. Off: removes the file. */
  turn(isOn: boolean): Promise<void>;
  /** A sign-in began or ended. */
  changed(): void;
  /** The launcher token was rotated: the next cookies get another key. */
  rotate(): void;
  /** Resolves when every change so far is on the disk, or the file is gone. Never rejects. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Errors of the system quote paths in their own way: their code says enough. */
function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return codeOf(error) === "internal" ? (code ?? message) : message;
}

export function createSignInKeeper({ file, log, random, records }: KeeperOptions): SignInKeeper {
  let salt = random(32);
  let hostName = randomHostName(random);
  let lock: FileLock | undefined;
  let isDirty = false;
  let writing: Promise<void> | undefined;

  const files = () => import("../../../lib/files/index.ts"); // loaded only where sign-ins are kept
  const remove = (): Promise<void> =>
    file === undefined ? Promise.resolve() : rm(file, { force: true });

  /** The right to the file, which two launchers of one home must not share: each would undo the other's sign-outs. */
  async function take(): Promise<void> {
    if (file === undefined || lock) return;
    const { lockFile, createPrivateFolder } = await files();
    await createPrivateFolder(dirname(file));
    lock = await lockFile(file, { waitMs: 0 });
  }

  async function read(): Promise<readonly SessionRecord[]> {
    if (file === undefined) return [];
    const { restrictSecretFile, readJson } = await files();
    const warning = await restrictSecretFile(file);
    if (warning !== undefined) log.warn({}, warning);
    const found = await readJson(file);
    if (!found) return [];
    const { success, data } = keptSignIns.safeParse(found.value);
    if (!success) throw new Error(`${file} is not a file of sign-ins of this version`);
    salt = Buffer.from(data.key, "base64url");
    hostName = data.hostName;
    return data.signIns;
  }

  async function write(held: FileLock): Promise<void> {
    if (file === undefined) return;
    const { writeFileAtomic } = await files();
    try {
      if (!(await held.held())) throw new Error("another process took the file");
      const key = Buffer.from(salt).toString("base64url");
      const text = JSON.stringify({ version: 1, key, hostName, signIns: records() });
      await writeFileAtomic(file, `${text}\n`, { mode: 0o600 });
    } catch (error) {
      // A file that misses a sign-out must not be read again.
      log.error({ reason: reasonOf(error) }, "sign-ins cannot be stored: a restart ends them all");
      await remove().catch(() => undefined);
    }
  }
  async function writeAll(): Promise<void> {
    while (isDirty && lock) {
      isDirty = false;
      await write(lock);
    }
    writing = undefined;
  }
  function changed(): void {
    if (!lock) return;
    isDirty = true;
    writing ??= writeAll();
  }
  const settled = (): Promise<void> => writing ?? Promise.resolve();

  async function turnOff(): Promise<void> {
    const held = lock;
    lock = undefined; // nothing is written from here on
    await settled();
    await remove();
    await held?.release();
  }

  return {
    salt: () => salt,
    hostName: () => hostName,
    async open(isOn) {
      if (!isOn) {
        await remove().catch((error: unknown) =>
          log.warn({ reason: reasonOf(error) }, "stored sign-ins cannot be removed"),
        );
        return [];
      }
      try {
        if (file === undefined) throw new Error("this deployment has no file for them");
        await take();
        const found = await read();
        log.info({ count: found.length }, "sign-ins are kept over restarts");
        return found;
      } catch (error) {
        log.warn({ reason: reasonOf(error) }, "stored sign-ins cannot be used: they have ended");
        return [];
      }
    },
    async turn(isOn) {
      try {
        await (isOn ? take() : turnOff());
      } catch (error) {
        log.warn({ reason: reasonOf(error) }, "keep_sign_ins has no effect before a restart");
      }
      changed();
      await settled();
    },
    changed,
    rotate() {
      salt = random(32);
      changed();
    },
    settled,
    async close() {
      changed(); // when each was used last
      await settled();
      await lock?.release();
      lock = undefined;
    },
  };
}
