// Identifies the current start of the machine.
import { readFile } from "node:fs/promises";
import { uptime } from "node:os";

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
