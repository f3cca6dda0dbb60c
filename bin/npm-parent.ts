// Notices the end of npm. npm passes a signal to the shell that it starts, and that shell ends
// without passing it on, so the launcher would continue without its parent.
import { readFileSync } from "node:fs";
import { isAlive, processStartTime } from "../lib/files/index.ts";
import type { Environment } from "../config/load/index.ts";

interface ParentWatchOptions {
  readonly env: Environment;
  /** Called once, up to one second after the end of the parent. */
  readonly ended: () => void;
  /** Replaces the parent of this process. */
  readonly parent?: () => number;
}

/** The check reads two small files of the kernel. */
const intervalMs = 1_000;

/**
 * Watches npm, yarn or pnpm if one of them started this process. It does nothing otherwise: a
 * launcher whose shell ends continues, as other servers do. The timer keeps no process alive.
 */
export function watchNpm({ env, ended, parent = () => process.ppid }: ParentWatchOptions): void {
  if (env["npm_lifecycle_event"] === undefined && env["npm_command"] === undefined) return;
  const first = parent();
  const watched = [first, ...parentOfShell(first)].map((pid) => ({
    pid,
    start: processStartTime(pid),
  }));
  const timer = setInterval(() => {
    // Windows reports the number of a parent that no longer exists.
    if (parent() === first && watched.every(({ pid, start }) => isAlive(pid, start))) return;
    clearInterval(timer);
    ended();
  }, intervalMs);
  timer.unref();
}

/**
 * On Linux: npm, if a shell is between npm and this process. Such a shell continues after npm was
 * killed. Elsewhere only the shell is watched.
 */
function parentOfShell(pid: number): readonly number[] {
  try {
    const [, name, parent] =
      /^\d+ \((.*)\) \S (\d+) /s.exec(readFileSync(`/proc/${pid}/stat`, "latin1")) ?? [];
    return name === "sh" && parent !== undefined && parent !== "0" ? [Number(parent)] : [];
  } catch {
    return []; // not Linux
  }
}
