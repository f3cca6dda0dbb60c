/** Makes backups of the home of a launcher, as often as its owner wants. */
import { readdir, rm, unlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { codeOf, type Clock, type Log, type Plugin } from "../../kernel/index.ts";
import { lockFile } from "../../lib/files/index.ts";
import { SteadyClock } from "../../lib/steady-clock.ts";
import { backupSchema, type BackupConfig } from "./config.ts";
import type { BackupHistory, BackupShape, BackupView, Backups, MadeBackup } from "./contract.ts";
import { noteBackups, noteFailed, noteMade, readBackups } from "./history.ts";

export type * from "./contract.ts";
export { noteFailed, noteMade, readBackups } from "./history.ts";

/** Options of {@link backup}. */
interface BackupOptions {
  /** Folder of the launcher. */
  readonly home: string;
  /** Makes a backup and reads it again. Rejects with a sentence for the owner. */
  readonly make: (file: string, signal: AbortSignal) => Promise<MadeBackup>;
  /** Paths of the home, for {@link Backups.places}. */
  readonly places: object;
}

const hourMs = 3_600_000;
/** Pause after a start, between two looks, and after a failure. */
const firstMs = 60_000;
const lookMs = 900_000;
const retryMs = hourMs;
/** The steady clock counts the hours of running alone; the system clock is asked separately. */
const catchUpPerMs = 0;
/** A launcher that does not always run is late by more than the interval. */
const lateIntervals = 2;

/**
 * A machine that slept or was off makes its backup soon after it is back. A system clock that
 * jumps ahead adds one backup, whose time in the notes is then ahead, too.
 */
function isDueBySystem({ last, failed }: BackupHistory, every: number, now: number): boolean {
  if (failed) return now - failed.at >= Math.min(retryMs, every * hourMs);
  return last !== undefined && now - last.at >= every * hourMs;
}

const namePattern = /^doorward-(\d{6,15})-\d{8}T\d{6}Z\.tar$/;

/** Numbers order the backups, because the system clock may be wrong. */
async function numbered(folder: string): Promise<{ name: string; number: number }[]> {
  const names = await readdir(folder).catch(() => []);
  const found = names.flatMap((name) => {
    const number = namePattern.exec(name)?.[1];
    return number === undefined ? [] : { name, number: Number(number) };
  });
  return found.sort((a, b) => b.number - a.number);
}

const unfinishedPattern = /^\.(doorward-\d{6,15}-\d{8}T\d{6}Z\.tar)\.(?:part.*|lock)$/;

/** Removes what killed processes have left. A process that lives has the lock of its files. */
async function removeUnfinished(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  const found = new Set(names.flatMap((name) => unfinishedPattern.exec(name)?.[1] ?? []));
  for (const backupName of found) {
    const lock = await lockFile(join(folder, backupName), { waitMs: 0 }).catch((error: unknown) => {
      if (codeOf(error) === "FILE_LOCKED") return undefined;
      throw error;
    });
    if (lock === undefined) continue;
    for (const part of names)
      if (part.startsWith(`.${backupName}.part`)) await rm(join(folder, part), { force: true });
    await lock.release();
  }
}

interface ScheduleOptions extends BackupOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly config: () => BackupConfig;
  readonly after: (ms: number, run: () => void) => unknown;
  readonly signal: AbortSignal;
}

class Schedule implements Backups {
  private readonly options: ScheduleOptions;
  private steady: SteadyClock | undefined;
  private running: Promise<void> | undefined;

  constructor(options: ScheduleOptions) {
    this.options = options;
  }

  async view(): Promise<BackupView> {
    const { every } = this.options.config();
    const { clock: _, due: __, ...history } = await readBackups(this.options.home);
    return {
      ...history,
      every,
      folder: this.folder(),
      running: this.running !== undefined,
      lateMs: every * hourMs * lateIntervals,
    };
  }

  places(): object {
    return this.options.places;
  }

  start(): void {
    const look = (): void => {
      this.running = this.look().finally(() => {
        this.running = undefined;
      });
      void this.running.then(
        () => this.options.after(lookMs, look),
        (error: unknown) => {
          this.options.log.error({ err: error }, "the time of the next backup cannot be read");
          this.options.after(retryMs, look);
        },
      );
    };
    this.options.after(firstMs, look);
  }

  /** Resolves when no backup is made. */
  async settled(): Promise<void> {
    await this.running?.catch(() => undefined);
  }

  private folder(): string {
    const { path } = this.options.config();
    const { home } = this.options;
    return path === "" ? join(home, "backups") : resolve(home, path);
  }

  /** Makes a backup if one is due by either clock. */
  private async look(): Promise<void> {
    const { home, clock, config } = this.options;
    const { every } = config();
    const notes = await readBackups(home);
    const { clock: saved, due } = notes;
    this.steady ??= new SteadyClock(clock, saved, catchUpPerMs);
    const now = this.steady.read();
    if (every === 0) return;
    const byRunning = due === undefined || now - due >= every * hourMs;
    if (!byRunning && !isDueBySystem(notes, every, clock.now())) {
      if (now - (saved ?? 0) >= hourMs) await noteBackups(home, (old) => ({ ...old, clock: now }));
      return;
    }
    const isMade = await this.attempt();
    // The next start makes it.
    if (!isMade && this.options.signal.aborted) return;
    const again = now - every * hourMs + Math.min(retryMs, every * hourMs);
    await noteBackups(home, (old) => ({ ...old, clock: now, due: isMade ? now : again }));
  }

  /** @returns False if the backup was not made; the reason is noted. */
  private async attempt(): Promise<boolean> {
    const { home, make, clock, log, signal } = this.options;
    const folder = this.folder();
    const [newest] = await numbered(folder);
    const number = String((newest?.number ?? 0) + 1).padStart(6, "0");
    const stamp = new Date(clock.now()).toISOString().replace(/\.\d+|[-:]/g, "");
    try {
      await removeUnfinished(folder);
      const file = join(folder, `doorward-${number}-${stamp}.tar`);
      const made = await make(file, signal);
      await noteMade(home, made, clock.now());
      log.info({ file: made.file, bytes: made.bytes }, "a backup was made and checked");
      await this.removeOld(folder);
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      const { message } = error as Error;
      await noteFailed(home, message, clock.now());
      log.error({ reason: message }, "the backup was not made");
      return false;
    }
  }

  /** Runs after a good backup, which is the newest and stays. */
  private async removeOld(folder: string): Promise<void> {
    const { config, log } = this.options;
    for (const { name } of (await numbered(folder)).slice(config().keep))
      await unlink(join(folder, name)).catch((error: unknown) => {
        log.warn({ err: error, name }, "an old backup cannot be deleted");
      });
  }
}

/**
 * Creates the plugin that makes backups of a launcher. List it before the dashboard, which shows
 * the latest one.
 *
 * @param options - The home, and the function that makes a backup.
 */
export function backup(options: BackupOptions): Plugin<BackupShape> {
  return {
    name: "backup",
    api: 1,
    config: { section: "backup", schema: backupSchema },
    start({ clock, log, config, after, onReady, onStop }) {
      const stopping = new AbortController();
      const { signal } = stopping;
      const schedule = new Schedule({ ...options, clock, log, config, after, signal });
      onReady(() => schedule.start());
      onStop(async () => {
        stopping.abort();
        await schedule.settled();
      });
      return { backups: schedule };
    },
  };
}
