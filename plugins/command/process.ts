import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import type { Release } from "../../kernel/index.ts";
import { hasGroups, signalGroup } from "./group.ts";
import { createLines } from "./lines.ts";

/** From the end of its input on: SIGTERM, and SIGKILL. A stop of the whole service has 1.8 s. */
const termAfterMs = 500;
const killAfterMs = 1_300;
/** What a program has written before it ended is read; children of it that keep the pipe open are not waited for. */
const lastWordsMs = 300;
const mostLine = 1024 * 1024;
const mostErrorLine = 8 * 1024;

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

export interface Running {
  /** Undefined: it could not be started, which `ended` will tell. */
  readonly pid: number | undefined;
  /** `false`: enough for now, `drained` follows. */
  write(line: string): boolean;
  /** Reads no further until it is resumed. */
  pause(isPaused: boolean): void;
  /** End of input, SIGTERM, SIGKILL; `ended` follows. */
  stop(): void;
}

/** Starts the program in a process group of its own, with three pipes and nothing else of ours. */
export function startProcess(options: ProcessOptions): Running {
  const { command: [program, ...words], cwd, env, after, line, said, tooLong, drained } = options;
  let child: ChildProcessWithoutNullStreams;
  try {
    child = spawn(program, words, { cwd, env, stdio: "pipe", detached: hasGroups, windowsHide: true });
  } catch (error) {
    return neverStarted(options, error as Error);
  }
  if (child.pid === undefined) {
    const reason = new Promise<Error>((told) => child.once("error", told));
    return neverStarted(options, reason);
  }
  const timers: Release[] = [];
  let isOver = false;

  const output = createLines({ most: mostLine, line, tooLong });
  const errors = createLines({ most: mostErrorLine, line: said, tooLong: (beginning) => said(`${beginning} …`) });
  child.stdout.on("data", output.take).on("error", () => undefined);
  child.stderr.on("data", errors.take).on("error", () => undefined);
  child.stdin.on("drain", drained).on("error", () => undefined); // it has closed its input; how it ends will tell

  function end(how: string, isClean: boolean): void {
    if (isOver) return;
    isOver = true;
    for (const cancel of timers) cancel();
    signalGroup(child, "SIGKILL");
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    output.end();
    errors.end();
    options.ended(how, isClean);
  }

  child.on("error", () => undefined); // a signal could not be sent: how it ends will tell
  child.once("exit", (code, signal) => {
    const how = signal ?? `exit code ${code}`;
    child.stdout.resume();
    child.once("close", () => end(how, code === 0));
    timers.push(after(lastWordsMs, () => end(how, code === 0)));
  });

  return {
    pid: child.pid,
    write: (text) => child.stdin.write(`${text}\n`),
    pause: (isPaused) => void (isPaused ? child.stdout.pause() : child.stdout.resume()),
    stop() {
      child.stdin.end();
      timers.push(after(termAfterMs, () => signalGroup(child, "SIGTERM")));
      timers.push(after(killAfterMs, () => signalGroup(child, "SIGKILL")));
    },
  };
}

/** The system refuses: there is no such program, it may not be run, too many words. */
function neverStarted({ ended }: ProcessOptions, reason: Error | Promise<Error>): Running {
  void Promise.resolve(reason).then((error: NodeJS.ErrnoException) => ended(error.code ?? error.message, false));
  return { pid: undefined, write: () => false, pause: () => undefined, stop: () => undefined };
}
