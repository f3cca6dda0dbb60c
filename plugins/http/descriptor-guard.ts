import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import type { Log } from "../../kernel/index.ts";

/** Stay free for what else this process opens: its log, its settings, what it dials. */
export const reservedDescriptors = 32;
const warningIntervalMs = 60_000;

/** As `/proc/self/limits` has it. */
export function parseOpenFilesLimit(limits: string): number | undefined {
  const [, soft] = /^Max open files +(\d+|unlimited)/m.exec(limits) ?? [];
  return soft === undefined || soft === "unlimited" ? undefined : Number(soft);
}

/** Files this process may open at one time, sockets among them; undefined where that cannot be known. */
export const openFilesLimit = async (): Promise<number | undefined> =>
  parseOpenFilesLimit(await readFile("/proc/self/limits", "utf8").catch(() => ""));

/** Node's own name for it; a socket without one passes. */
const handle = "_handle";

/** The system gives the lowest number that is free. */
const descriptorOf = (socket: Socket): number =>
  (socket as { [handle]?: { readonly fd?: number } | null })[handle]?.fd ?? -1;

/** Closes connections that would take the last files: without it the system takes them in and drops them without a
 *  word, and nothing of this process can be written any more. `now`: Unix milliseconds. */
export function createDescriptorGuard(
  limit: number,
  now: () => number,
  log: Pick<Log, "warn">,
): (socket: Socket) => void {
  let turnedAway = 0;
  let remarkedAt = Number.NEGATIVE_INFINITY;
  return (socket) => {
    if (descriptorOf(socket) < limit - reservedDescriptors) return;
    socket.destroy();
    turnedAway += 1;
    if (Math.abs(now() - remarkedAt) < warningIntervalMs) return;
    remarkedAt = now();
    const text =
      "new connections are closed: this process has nearly all files open that it may; raise its limit";
    log.warn({ limit, turnedAway }, `${text} (ulimit -n, LimitNOFILE=)`);
    turnedAway = 0;
  };
}
