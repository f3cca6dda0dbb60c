// Notes the backups of a home in `state/backups.json`.
import { join } from "node:path";
import { createPrivateFolder, readJson, updateFile } from "../../lib/files/index.ts";
import { isObject } from "../../lib/util.ts";
import type { BackupHistory, MadeBackup } from "./contract.ts";

/** The history, and the clock of the schedule. */
interface BackupNotes extends BackupHistory {
  /** Last time of the steady clock. */
  readonly clock?: number;
  /** Time of the steady clock at the last backup of the schedule. */
  readonly due?: number;
}

const fileOf = (home: string): string => join(home, "state", "backups.json");
const isNumber = (value: unknown): value is number =>
  typeof value === "number" && Number.isFinite(value);

function parseLast(value: unknown): BackupNotes["last"] | undefined {
  if (!isObject(value)) return undefined;
  const { at, file, bytes, conversations } = value;
  if (!isNumber(at) || !isNumber(bytes) || typeof file !== "string") return undefined;
  return { at, file, bytes, ...(isNumber(conversations) && { conversations }) };
}

function parse(value: Readonly<Record<string, unknown>> = {}): BackupNotes {
  const { failed, clock, due } = value;
  const last = parseLast(value["last"]);
  const failure = isObject(failed) ? failed : {};
  const { at, reason } = failure;
  return {
    ...(last && { last }),
    ...(isNumber(at) && typeof reason === "string" && { failed: { at, reason } }),
    ...(isNumber(clock) && { clock }),
    ...(isNumber(due) && { due }),
  };
}

/** @returns The notes of a home; empty without any, and if they cannot be read. */
export async function readBackups(home: string): Promise<BackupNotes> {
  const read = await readJson(fileOf(home)).catch(() => undefined);
  return parse(read?.value);
}

/** Changes the notes. */
export async function noteBackups(
  home: string,
  change: (notes: BackupNotes) => BackupNotes,
): Promise<void> {
  await createPrivateFolder(join(home, "state"));
  await updateFile(
    fileOf(home),
    async () => `${JSON.stringify(change(await readBackups(home)))}\n`,
  );
}

/**
 * Notes a good backup.
 *
 * @param at - Unix milliseconds.
 */
export const noteMade = (home: string, made: MadeBackup, at: number): Promise<void> =>
  noteBackups(home, ({ failed: _, ...notes }) => ({ ...notes, last: { ...made, at } }));

/**
 * Notes a failed attempt; the last good backup stays.
 *
 * @param at - Unix milliseconds.
 */
export const noteFailed = (home: string, reason: string, at: number): Promise<void> =>
  noteBackups(home, (notes) => ({ ...notes, failed: { at, reason } }));
