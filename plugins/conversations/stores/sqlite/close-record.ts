/**
 * A record of a clean close, in a small file next to the database. While the database has
 * not changed since, the next start needs no worker to know that it can be opened.
 */
import { readFileSync, rmSync, statSync } from "node:fs";
import { arch } from "node:process";
import { writeFileAtomic } from "../../../../lib/files/index.ts";
import { findSqliteDriver } from "./driver.ts";
import type { Stats } from "./protocol.ts";
import { logFiles } from "./record.ts";
import { migrations } from "./schema.ts";

const recordFile = (path: string): string => `${path}-closed`;
/** A record is shorter. */
const maxBytes = 4_096;

interface CloseRecord {
  readonly state: string;
  readonly stats: Stats;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value);
const isTime = (value: unknown): value is number | undefined =>
  value === undefined || isCount(value);

function isRecord(value: unknown): value is CloseRecord {
  const { state, stats } = (value ?? {}) as Partial<CloseRecord>;
  const { bytes, conversations, oldestAt, usedAt } = (stats ?? {}) as Partial<Stats>;
  const hasTimes = isTime(oldestAt) && isTime(usedAt);
  return typeof state === "string" && isCount(bytes) && isCount(conversations) && hasTimes;
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/**
 * @returns What must be as it was at the close: the file, which any change or copy gives another
 *   state, the schema, and the driver that could open it.
 */
function stateOf(path: string): string {
  const { ino, size, mtimeNs, ctimeNs, birthtimeNs } = statSync(path, { bigint: true });
  const file = [ino, size, mtimeNs, ctimeNs, birthtimeNs].join(" ");
  return [file, migrations.length, process.version, arch, findSqliteDriver()].join(", ");
}

/** Records that the database was closed and nothing waits in its logs. */
export async function writeCloseRecord(path: string, stats: Stats): Promise<void> {
  const record: CloseRecord = {
    state: stateOf(path),
    stats: { ...stats, bytes: sizeOf(path) },
  };
  await writeFileAtomic(recordFile(path), JSON.stringify(record), { mode: 0o600 });
}

/** @returns The state of a database that is as the last clean close has left it, or undefined. */
export function readCloseRecord(path: string): Stats | undefined {
  try {
    const file = recordFile(path);
    if (sizeOf(file) > maxBytes) return undefined;
    const record: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (!isRecord(record) || record.state !== stateOf(path)) return undefined;
    if ([`${path}-wal`, ...logFiles(path)].some((log) => sizeOf(log) > 0)) return undefined;
    return record.stats;
  } catch {
    return undefined; // The worker opens the file and finds out more.
  }
}

/**
 * Removes the record before the database changes. A power failure does not bring it back: SQLite
 * syncs the folder with its first change (`recover`), which is before the first batch.
 */
export function removeCloseRecord(path: string): void {
  rmSync(recordFile(path), { force: true });
}
