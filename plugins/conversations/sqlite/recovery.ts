// Recognises what happened to a file since it was last open, and renews its epochs if necessary.
import { statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { uptime } from "node:os";
import type { Connection, SqlValue } from "./driver.ts";

/** Precision of the start time, in seconds: the system time may be corrected a little. */
const stepS = 10;

/**
 * @param now - Unix milliseconds.
 * @returns An id that changes when the machine starts: of Linux, or the time of the start to 10 s.
 */
export async function readBootId(now: number): Promise<string> {
  const id = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => "");
  return id.trim() || `start-${Math.round((now / 1000 - uptime()) / stepS)}`;
}

/** @returns The number and the time of creation, which differ for a copy; empty without a file. */
export function fileId(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${found.ino}-${Math.round(found.birthtimeMs)}` : "";
}

export const getMeta = (connection: Connection, key: string): SqlValue | undefined =>
  connection.get("SELECT value FROM meta WHERE key = ?", key)?.value;

export function setMeta(connection: Connection, key: string, value: string | number): void {
  connection.run("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value);
}

interface RecoverOptions {
  readonly path: string;
  /** Changes when the machine starts. */
  readonly boot: string;
  readonly durability: "process" | "power";
  readonly random: (bytes: number) => Uint8Array;
}

/**
 * Gives all streams a new epoch if clients may have received numbers that the file lacks: the file
 * is a copy, or the last process did not close the store, the machine was started since, and
 * `durability` was `process`.
 *
 * @returns The number of streams with a new epoch.
 */
export function recover(
  connection: Connection,
  { path, boot, durability, random }: RecoverOptions,
): number {
  const file = fileId(path);
  const isCopy = (getMeta(connection, "file") ?? file) !== file;
  const isComplete =
    getMeta(connection, "clean") !== 0 ||
    getMeta(connection, "boot") === boot ||
    getMeta(connection, "durability") === "power";
  // A power failure that loses batches must not lose this, too.
  connection.exec("PRAGMA synchronous = FULL");
  const renewed = connection.transaction(() => {
    setMeta(connection, "clean", 0);
    setMeta(connection, "boot", boot);
    setMeta(connection, "durability", durability);
    setMeta(connection, "file", file);
    if (isComplete && !isCopy) return 0;
    const ids = connection.all("SELECT id FROM conversation");
    for (const { id } of ids) {
      const epoch = Buffer.from(random(8)).toString("hex");
      connection.run("UPDATE conversation SET epoch = ? WHERE id = ?", epoch, id!);
    }
    return ids.length;
  });
  connection.exec("PRAGMA synchronous = NORMAL");
  return renewed;
}
