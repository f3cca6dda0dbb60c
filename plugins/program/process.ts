import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import type { Release } from "../../kernel/index.ts";
import { supportsProcessGroups, signalGroup } from "./group.ts";
import { createLineReader } from "./lines.ts";

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
  child.stdout.on("data", output.take).on("error", () => undefined);
  child.stderr
    .on("error", () => undefined)
    .on("data", (chunk: Buffer) => {
      errors.take(chunk);
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
