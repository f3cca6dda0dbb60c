import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** Eight hex digits that tell this machine or container from others that mount the same folder. */
export const hostId = createHash("sha256").update(hostname()).digest("hex").slice(0, 8);

/** Where the system tells (Linux): when the process started, and whether it has ended and nobody has asked how, as in a
 *  container whose first process asks for none. */
function readProcStat(pid: number): { start: string; isOver: boolean } {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field is the program's name in parentheses and may hold anything; state and start are 3 and 22.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { start: fields[19] ?? "", isOver: fields[0] === "Z" || fields[0] === "X" };
  } catch {
    return { start: "", isOver: false };
  }
}

/** A reused pid has another start; `""`: the system does not tell. */
export const processStartTime = (pid: number): string => readProcStat(pid).start;

/** Whether the process lives on this host; with `start`, whether it is still the same one. */
export function isAlive(pid: number, start = ""): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  const now = readProcStat(pid);
  return !now.isOver && (start === "" || now.start === "" || now.start === start);
}
