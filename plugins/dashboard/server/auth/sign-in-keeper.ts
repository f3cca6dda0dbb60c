/**
 * Stores sign-ins and the key of their cookies across restarts (`launcher.keep_sign_ins`).
 *
 * @module
 */
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import * as z from "zod";
import { codeOf, type Scope } from "../../../../kernel/index.ts";
import type { FileLock } from "../../../../lib/files/index.ts";
import type { DashboardShape } from "../service.ts";
import { isRandomHostName, randomHostName } from "./private-host.ts";
import { maxSessions, type SessionRecord } from "./contract.ts";
import type { SignInSessions } from "./sessions.ts";

/** Content of `state/sign-ins.json` (mode 0600), with at most 25 sign-ins. */
const storedSignIns = z.object({
  version: z.literal(1),
  key: z.string().regex(/^[\w-]{43}$/),
  hostName: z.string().refine(isRandomHostName),
  time: z.int(),
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
        /** Digest of the maker. */
        maker: z.string().optional(),
      }),
    )
    .max(maxSessions),
});

interface StoredSignIns {
  readonly records: readonly SessionRecord[];
  readonly time?: number | undefined;
}

/** System errors quote paths in their messages; the code is enough. */
function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return codeOf(error) === "internal" ? (code ?? message) : message;
}

/** The file library, loaded only where sign-ins are stored. */
const fileLibrary = () => import("../../../../lib/files/index.ts");

/**
 * Holds the salt of the key that signs session cookies, and the private host name under which
 * browsers hold them. Both are new at each start, or restored from the previous one.
 *
 * The file alone opens nothing: it holds only a digest of the secret of each cookie, and the key
 * also needs the launcher token.
 */
export class SignInKeeper {
  /** 32 bytes. */
  salt: Uint8Array;
  hostName: string;
  /** Undefined if this deployment has no file for sign-ins. */
  private readonly file: string | undefined;
  private readonly scope: Scope<DashboardShape>;
  private readonly sessions: SignInSessions;
  private lock: FileLock | undefined;
  private isDirty = false;
  /** Steps of plugins because a sign-in has ended. */
  private readonly followed = new Set<Promise<void>>();
  private writing: Promise<void> | undefined;

  constructor(file: string | undefined, scope: Scope<DashboardShape>, sessions: SignInSessions) {
    this.file = file;
    this.scope = scope;
    this.sessions = sessions;
    this.salt = scope.random(32);
    this.hostName = randomHostName(scope.random);
  }

  /**
   * @returns The stored sign-ins if `isOn`; else none, and the file of an earlier start is removed.
   */
  async open(isOn: boolean): Promise<StoredSignIns> {
    const { file } = this;
    const { log } = this.scope;
    if (!isOn) {
      await this.removeFile().catch((error: unknown) =>
        log.warn({ reason: reasonOf(error) }, "stored sign-ins cannot be removed"),
      );
      return { records: [] };
    }
    try {
      if (file === undefined) throw new Error("this deployment has no file for sign-ins");
      await this.acquire();
      const stored = await this.read();
      log.info({ count: stored.records.length }, "sign-ins are kept across restarts");
      return stored;
    } catch (error) {
      log.warn(
        { reason: reasonOf(error) },
        "stored sign-ins cannot be read: all browsers are signed out",
      );
      return { records: [] };
    }
  }

  /** Switches storage on or off while the dashboard runs. Off removes the file. */
  async turn(isOn: boolean): Promise<void> {
    try {
      await (isOn ? this.acquire() : this.turnOff());
    } catch (error) {
      this.scope.log.warn(
        { reason: reasonOf(error) },
        "keep_sign_ins takes effect only after a restart",
      );
    }
    this.changed();
    await this.settled();
  }

  /** Schedules a write. Call it when a sign-in begins or ends. */
  changed(): void {
    if (!this.lock) return;
    this.isDirty = true;
    this.writing ??= this.writeAll();
  }

  /** Gives the next cookies another key. Call it when the launcher token was rotated. */
  rotate(): void {
    this.salt = this.scope.random(32);
    this.changed();
  }

  /** Lets `settled` wait for a promise that never rejects. */
  follow(ending: Promise<void>): void {
    this.followed.add(ending);
    void ending.then(() => this.followed.delete(ending));
  }

  /** Resolves when every change so far is on disk, or the file is gone. Never rejects. */
  async settled(): Promise<void> {
    await this.writing;
    await Promise.all(this.followed);
  }

  async close(): Promise<void> {
    this.changed(); // stores when each sign-in was last used
    await this.settled();
    await this.lock?.release();
    this.lock = undefined;
  }

  private removeFile(): Promise<void> {
    const { file } = this;
    return file === undefined ? Promise.resolve() : rm(file, { force: true });
  }

  /** Locks the file: of two launchers with one home, each would undo the sign-outs of the other. */
  private async acquire(): Promise<void> {
    const { file } = this;
    if (file === undefined || this.lock) return;
    const { lockFile, createPrivateFolder } = await fileLibrary();
    await createPrivateFolder(dirname(file));
    this.lock = await lockFile(file, { waitMs: 0 });
  }

  private async turnOff(): Promise<void> {
    const { lock } = this;
    this.lock = undefined; // prevents further writes
    await this.settled();
    await this.removeFile();
    await lock?.release();
  }

  private async read(): Promise<StoredSignIns> {
    const { file } = this;
    const { log } = this.scope;
    if (file === undefined) return { records: [] };
    const { restrictSecretFile, readJson } = await fileLibrary();
    const warning = await restrictSecretFile(file);
    if (warning !== undefined) log.warn({}, warning);
    const content = await readJson(file);
    if (!content) return { records: [] };
    const { success, data } = storedSignIns.safeParse(content.value);
    if (!success) throw new Error(`${file} is not a sign-in file of this version`);
    this.salt = Buffer.from(data.key, "base64url");
    this.hostName = data.hostName;
    return { records: data.signIns, time: data.time };
  }

  private async writeAll(): Promise<void> {
    while (this.isDirty && this.lock) {
      this.isDirty = false;
      await this.write(this.lock);
    }
    this.writing = undefined;
  }

  private async write(lock: FileLock): Promise<void> {
    const { file, sessions } = this;
    const { log } = this.scope;
    if (file === undefined) return;
    const { writeFileAtomic } = await fileLibrary();
    try {
      if (!(await lock.held())) throw new Error("another process has locked the file");
      const key = Buffer.from(this.salt).toString("base64url");
      const content = {
        version: 1,
        key,
        hostName: this.hostName,
        time: sessions.time(),
        signIns: sessions.records(),
      };
      const text = JSON.stringify(content);
      await writeFileAtomic(file, `${text}\n`, { mode: 0o600 });
    } catch (error) {
      log.error(
        { reason: reasonOf(error) },
        "sign-ins cannot be stored: the next restart signs all browsers out",
      );
      // A file that misses a sign-out must not be read again.
      await this.removeFile().catch(() => undefined);
    }
  }
}
