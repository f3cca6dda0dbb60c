import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from "node:child_process";
import type { Release } from "../../kernel/index.ts";
import { createLineReader } from "./line-reader.ts";

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

/** From the end of its input on: SIGTERM, and SIGKILL. A stop of the whole service has 1.8 s. */
const termAfterMs = 500;
const killAfterMs = 1_300;
/** What a program has written before it ended is read; children of it that keep the pipe open are not waited for. */
const outputDrainMs = 300;
const maxLineBytes = 1024 * 1024;
const maxStderrLineBytes = 8 * 1024;
/** Bytes of standard error that are read between two rests of a second: a flood waits. */
const maxStderrBytes = 1024 * 1024;

export interface ProcessOptions {
  readonly command: readonly [string, ...string[]];
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly after: (ms: number, run: () => void) => Release;
  readonly line: (text: string) => void;
  readonly tooLong: (beginning: string) => void;
  readonly said: (text: string) => void;
  /** It takes more. */
  readonly drained: () => void;
  /** Once, after its last line: `exit code 1`, `SIGKILL`, `ENOENT`. */
  readonly ended: (how: string, isClean: boolean) => void;
}

export interface ProgramProcess {
  /** Undefined: it could not be started, which `ended` will tell. */
  readonly pid: number | undefined;
  /** It is there and not about to end. */
  takes(): boolean;
  /** `false`: enough for now, `drained` follows. */
  write(line: string): boolean;
  /** Reads no further until it is resumed. */
  pause(isPaused: boolean): void;
  /** End of input, SIGTERM, SIGKILL; `ended` follows and tells why. */
  stop(why?: string): void;
  /** SIGKILL now, where there is no time for `stop`. */
  kill(): void;
}

/** Starts the program in a process group of its own, with three pipes and nothing else of ours. */
export function startProcess(options: ProcessOptions): ProgramProcess {
  const {
    command: [program, ...words],
    cwd,
    env,
    after,
    line,
    said,
    tooLong,
    drained,
  } = options;
  let child: ChildProcessWithoutNullStreams;
  try {
    child = spawn(program, words, {
      cwd,
      env,
      stdio: "pipe",
      detached: supportsProcessGroups,
      windowsHide: true,
    });
  } catch (error) {
    return failedProcess(options, error as Error);
  }
  if (child.pid === undefined) {
    const reason = new Promise<Error>((told) => child.once("error", told));
    return failedProcess(options, reason);
  }
  const timers: Release[] = [];
  let errorBytes = 0;
  let cancelRest: Release | undefined;
  let isStopping = false;
  let isDeaf = false;
  let isSignalled = false;
  let because = "";
  let isOver = false;

  const output = createLineReader({ most: maxLineBytes, line, tooLong });
  const errors = createLineReader({
    most: maxStderrLineBytes,
    line: said,
    tooLong: (beginning) => said(`${beginning} …`),
  });
  child.stdout.on("data", output.accept).on("error", () => undefined);
  child.stderr
    .on("error", () => undefined)
    .on("data", (chunk: Buffer) => {
      errors.accept(chunk);
      errorBytes += chunk.byteLength;
      if (errorBytes < maxStderrBytes || child.stderr.isPaused()) return;
      child.stderr.pause();
      cancelRest = after(1_000, () => {
        errorBytes = 0;
        child.stderr.resume();
      });
    });
  child.stdin.on("drain", drained).on("error", () => {
    isDeaf = !isStopping; // or about to end: only a signal of ours tells which
    stop("it had closed its input");
  });

  function end(how: string, isClean: boolean): void {
    if (isOver) return;
    isOver = true;
    for (const cancel of timers) cancel();
    cancelRest?.();
    signalGroup(child, "SIGKILL");
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    output.end();
    errors.end();
    options.ended(how, isClean);
  }

  function stop(why?: string): void {
    if (isStopping || isOver) return;
    isStopping = true;
    if (why !== undefined) because = `, ${why}`;
    child.stdin.end();
    timers.push(after(termAfterMs, () => send("SIGTERM")));
    timers.push(after(killAfterMs, () => send("SIGKILL")));
  }

  function send(signal: "SIGTERM" | "SIGKILL"): void {
    isSignalled = true;
    signalGroup(child, signal);
  }

  child.on("error", () => undefined); // a signal could not be sent: how it ends will tell
  child.once("exit", (code, signal) => {
    const how = `${signal ?? `exit code ${code}`}${isDeaf && !isSignalled ? "" : because}`;
    for (const stream of [child.stdout, child.stderr]) stream.resume();
    child.once("close", () => end(how, code === 0));
    // A process that was held up reads first what waits for it.
    timers.push(after(outputDrainMs, () => void setImmediate(end, how, code === 0)));
  });

  return {
    pid: child.pid,
    takes: () => !isStopping && !isOver,
    write: (text) => child.stdin.write(`${text}\n`),
    pause: (isPaused) => void (isPaused ? child.stdout.pause() : child.stdout.resume()),
    stop,
    kill() {
      if (!isOver) signalGroup(child, "SIGKILL");
    },
  };
}

/** The system refuses: there is no such program, it may not be run, too many words. */
function failedProcess({ ended }: ProcessOptions, reason: Error | Promise<Error>): ProgramProcess {
  void Promise.resolve(reason).then((error: NodeJS.ErrnoException) =>
    ended(error.code ?? error.message, false),
  );
  const nothing = (): void => undefined;
  return {
    pid: undefined,
    takes: () => false,
    write: () => false,
    pause: nothing,
    stop: nothing,
    kill: nothing,
  };
}
