/** Closes new connections before the process runs out of file descriptors. */
import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import type { Log } from "../../kernel/index.ts";

/** Descriptors kept free for log, settings and outgoing connections of this process. */
export const reservedDescriptors = 32;
const warningIntervalMs = 60_000;

/** Parses the soft limit from the text of `/proc/self/limits`. */
export function parseOpenFilesLimit(limits: string): number | undefined {
  const [, soft] = /^Max open files +(\d+|unlimited)/m.exec(limits) ?? [];
  return soft === undefined || soft === "unlimited" ? undefined : Number(soft);
}

/** @returns The number of files and sockets this process may open, or undefined if unknown. */
export const openFilesLimit = async (): Promise<number | undefined> =>
  parseOpenFilesLimit(await readFile("/proc/self/limits", "utf8").catch(() => ""));

/** Internal property of Node; a socket without it passes the check. */
const handle = "_handle";

/** The kernel assigns the lowest free number, so a high number means that few are left. */
const descriptorOf = (socket: Socket): number =>
  (socket as { [handle]?: { readonly fd?: number } | null })[handle]?.fd ?? -1;

/**
 * Closes connections that would use the last descriptors. Otherwise the kernel would accept and
 * silently drop them, and this process could no longer write its files.
 *
 * @param now - Returns Unix milliseconds.
 */
export function createDescriptorGuard(
  limit: number,
  now: () => number,
  log: Pick<Log, "warn">,
): (socket: Socket) => void {
  let turnedAway = 0;
  let warnedAt = Number.NEGATIVE_INFINITY;
  return (socket) => {
    if (descriptorOf(socket) < limit - reservedDescriptors) return;
    socket.destroy();
    turnedAway += 1;
    if (Math.abs(now() - warnedAt) < warningIntervalMs) return;
    warnedAt = now();
    const text =
      "new connections are closed: this process has nearly reached its limit on open files; " +
      "raise the limit (ulimit -n, LimitNOFILE=)";
    log.warn({ limit, turnedAway }, text);
    turnedAway = 0;
  };
}
