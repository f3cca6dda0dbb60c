import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** Eight hex digits that tell this machine or container from others that mount the same folder. */
export const host = createHash("sha256").update(hostname()).digest("hex").slice(0, 8);

/** When the process started, where the system tells (Linux): a reused pid has another start. */
export function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field is the program's name in parentheses and may hold anything; the start is field 22.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  } catch {
    return "";
  }
}

/** Whether the process lives on this host; with `start`, whether it is still the same one. */
export function isAlive(pid: number, start = ""): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  const now = startOf(pid);
  return start === "" || now === "" || now === start;
}
