// Identifies this host and the processes on it.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/**
 * Eight hex digits that distinguish this machine or container from others that mount the same
 * folder.
 */
export const hostId = createHash("sha256").update(hostname()).digest("hex").slice(0, 8);

/**
 * On Linux: the start time of the process, and whether it is a zombie. Zombies remain in containers
 * whose first process does not collect exit statuses.
 */
function readProcStat(pid: number): { start: string; isOver: boolean } {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field is the program name in parentheses and may contain anything. Fields 3 and 22
    // are the state and the start time.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { start: fields[19] ?? "", isOver: fields[0] === "Z" || fields[0] === "X" };
  } catch {
    return { start: "", isOver: false };
  }
}

/**
 * The start time distinguishes a process from a later one with the same pid.
 *
 * @returns An empty string if the system does not provide it.
 */
export const processStartTime = (pid: number): string => readProcStat(pid).start;

/** Whether the process runs on this host. With `start`, whether it is still the same process. */
export function isAlive(pid: number, start = ""): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  const now = readProcStat(pid);
  return !now.isOver && (start === "" || now.start === "" || now.start === start);
}
