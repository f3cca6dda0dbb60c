import { spawn, type ChildProcess } from "node:child_process";

/* A program and all it starts are one process group (POSIX), so that they end together: at a stop by us, and when we
 * are killed by a guard, a small shell that notices the end of its standard input. */

export const supportsProcessGroups = process.platform !== "win32";

/** Reads the number of the group that is to end with us, `-` for none. Without us: a second for a program that ends by
 *  itself at the end of its input, then SIGTERM, two seconds later SIGKILL. */
const guardScript = `trap '' HUP INT TERM
group=-
while read -r line; do group=$line; done
[ "$group" = - ] && exit 0
sleep 1; kill -s TERM -- "-$group" || exit 0
sleep 2; kill -s KILL -- "-$group"`;

export interface ProcessGuard {
  /** From now on this group ends when this process does; `undefined`: none. */
  watch(group: number | undefined): void;
  /** Resolves when the guard has gone. */
  close(): Promise<void>;
}

/** Calls `missing` when there is no shell: then only the end of its input tells a program that we are gone. */
export function startGuard(missing: (error: Error) => void): ProcessGuard {
  if (!supportsProcessGroups) return { watch: () => undefined, close: async () => undefined };
  const shell = spawn("/bin/sh", ["-c", guardScript, "doorward-guard"], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  shell.on("error", missing);
  /** None when this process could open no more files. */
  const input = shell.stdin as typeof shell.stdin | undefined;
  input?.on("error", () => undefined); // it has gone: nothing to tell
  const gone = new Promise<void>((done) =>
    shell.once("exit", () => done()).once("error", () => done()),
  );
  return {
    watch: (group) => void input?.write(`${group ?? "-"}\n`),
    close() {
      input?.end("-\n");
      return gone;
    },
  };
}

/** To the program and all it has started that this user may end; nothing when nobody of them is left. */
export function signalGroup(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): void {
  if (child.pid === undefined) return;
  if (!supportsProcessGroups) return void child.kill(signal);
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    // EPERM: whoever is left belongs to another user, or is dead and not yet forgotten (macOS).
    if (!["ESRCH", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}
