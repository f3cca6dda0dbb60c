// Runs one process, together with all processes it starts.
import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from "node:child_process";
import type { Release } from "../../kernel/index.ts";
import { createLineReader, type LineReader } from "../line-reader.ts";

/** On POSIX, a program and all processes it starts form one process group and end together. */
const supportsProcessGroups = process.platform !== "win32";

/**
 * Shell script that ends the process group if this process is killed. It reads group numbers, `-`
 * for none. The end of its input means that this process is gone. A program then has one second
 * to exit by itself, since its input has ended too. SIGTERM follows, and SIGKILL 2 s later.
 */
const guardScript = `trap '' HUP INT TERM
group=-
while read -r line; do group=$line; done
[ "$group" = - ] && exit 0
sleep 1; kill -s TERM -- "-$group" || exit 0
sleep 2; kill -s KILL -- "-$group"`;

export interface ProcessGuard {
  /** Ends this group when this process is killed; undefined = no group. */
  watch(group: number | undefined): void;
  /** Resolves when the shell of the guard has exited. */
  close(): Promise<void>;
}

/**
 * Starts the shell that ends the program if this process is killed.
 *
 * @param onError - Called if there is no shell. Then a program notices only the end of its input.
 */
export function startGuard(onError: (error: Error) => void): ProcessGuard {
  if (!supportsProcessGroups) return { watch: () => undefined, close: async () => undefined };
  const shell = spawn("/bin/sh", ["-c", guardScript, "doorward-guard"], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  shell.on("error", onError);
  /** Undefined if this process has no file descriptors left. */
  const input = shell.stdin as typeof shell.stdin | undefined;
  input?.on("error", () => undefined); // the shell has exited already
  const exited = new Promise<void>((resolve) =>
    shell.once("exit", () => resolve()).once("error", () => resolve()),
  );
  return {
    watch: (group) => void input?.write(`${group ?? "-"}\n`),
    close() {
      input?.end("-\n");
      return exited;
    },
  };
}

/** Sends a signal to the group of `child`. Does nothing if no process of it is left. */
function signalGroup(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): void {
  if (child.pid === undefined) return;
  if (!supportsProcessGroups) return void child.kill(signal);
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    // EPERM: the remaining processes belong to another user, or are zombies (macOS).
    if (!["ESRCH", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

/** Times after the end of the input. The whole service must stop within 1.8 s. */
const termAfterMs = 500;
const killAfterMs = 1_300;
/**
 * Time after the exit in which remaining output is read. Child processes that keep the pipe open
 * do not prolong it.
 */
const outputDrainMs = 300;
const maxStderrLineBytes = 8 * 1024;
/** Bytes read from standard error before a pause of one second; limits the cost of a flood. */
const maxStderrBytes = 1024 * 1024;
const stderrPauseMs = 1_000;

/** Program, arguments, working directory, whole environment and limit of a process. */
export interface ProcessCommand {
  readonly words: readonly [string, ...string[]];
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  /** Bytes of a line on standard output. */
  readonly maxLineBytes: number;
}

/** Callbacks for the output of a process. */
export interface ProcessOutput {
  readonly line: (text: string) => void;
  /** Receives the beginning of a stdout line over `maxLineBytes`, which was dropped. */
  readonly tooLong: (beginning: string) => void;
  readonly stderrLine: (text: string) => void;
  /** Called when the process accepts input again. */
  readonly drained: () => void;
}

interface ProcessOptions {
  readonly command: ProcessCommand;
  readonly after: (ms: number, run: () => void) => Release;
  readonly output: ProcessOutput;
  /** Called once, after the last line. `how` is `exit code 1`, `SIGKILL` or `ENOENT`. */
  readonly ended: (how: string, isClean: boolean) => void;
}

export interface ProgramProcess {
  /** Undefined if the process could not be started; `ended` follows. */
  readonly pid: number | undefined;
  /** @returns True while the process runs and is not being stopped. */
  acceptsInput(): boolean;
  /** @returns False if the buffer is full; `drained` follows. */
  write(line: string): boolean;
  /** Stops or continues reading standard output. */
  pause(isPaused: boolean): void;
  /** Ends the input, then sends SIGTERM and SIGKILL. `ended` follows and includes the reason. */
  stop(reason?: string): void;
  /** Sends SIGKILL immediately, if there is no time for `stop`. */
  kill(): void;
}

/** Starts the program in its own process group, with three pipes and no other open files. */
export function startProcess(options: ProcessOptions): ProgramProcess {
  const {
    command: {
      words: [program, ...words],
      cwd,
      env,
    },
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
    const reason = new Promise<Error>((resolve) => child.once("error", resolve));
    return failedProcess(options, reason);
  }
  return new RunningProcess(child, child.pid, options);
}

/** @returns A process that the operating system did not start, for example for ENOENT or E2BIG. */
function failedProcess({ ended }: ProcessOptions, reason: Error | Promise<Error>): ProgramProcess {
  void Promise.resolve(reason).then((error: NodeJS.ErrnoException) =>
    ended(error.code ?? error.message, false),
  );
  const ignore = (): void => undefined;
  return {
    pid: undefined,
    acceptsInput: () => false,
    write: () => false,
    pause: ignore,
    stop: ignore,
    kill: ignore,
  };
}

class RunningProcess implements ProgramProcess {
  readonly pid: number;
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly options: ProcessOptions;
  private readonly stdout: LineReader;
  private readonly stderr: LineReader;
  private readonly timers: Release[] = [];
  private stderrBytes = 0;
  private cancelStderrPause: Release | undefined;
  private isStopping = false;
  private hasClosedInput = false;
  private isSignalled = false;
  private stopReason = "";
  private hasEnded = false;

  constructor(child: ChildProcessWithoutNullStreams, pid: number, options: ProcessOptions) {
    this.child = child;
    this.pid = pid;
    this.options = options;
    const { line, tooLong, stderrLine, drained } = options.output;
    this.stdout = createLineReader({ maxLineBytes: options.command.maxLineBytes, line, tooLong });
    this.stderr = createLineReader({
      maxLineBytes: maxStderrLineBytes,
      line: stderrLine,
      tooLong: (beginning) => stderrLine(`${beginning} …`),
    });
    child.stdout.on("data", this.stdout.accept).on("error", () => undefined);
    child.stderr
      .on("error", () => undefined)
      .on("data", (chunk: Buffer) => this.onStderrData(chunk));
    child.stdin.on("drain", drained).on("error", () => {
      // The process closed its input or is about to exit; a later signal from here tells which.
      this.hasClosedInput = !this.isStopping;
      this.stop("it closed its input");
    });
    child.on("error", () => undefined); // a signal could not be sent; the exit is reported
    child.once("exit", (code, signal) => this.onExit(code, signal));
  }

  acceptsInput(): boolean {
    return !this.isStopping && !this.hasEnded;
  }

  write(text: string): boolean {
    return this.child.stdin.write(`${text}\n`);
  }

  pause(isPaused: boolean): void {
    if (isPaused) this.child.stdout.pause();
    else this.child.stdout.resume();
  }

  stop(reason?: string): void {
    if (this.isStopping || this.hasEnded) return;
    this.isStopping = true;
    if (reason !== undefined) this.stopReason = `, ${reason}`;
    this.child.stdin.end();
    const { after } = this.options;
    this.timers.push(after(termAfterMs, () => this.send("SIGTERM")));
    this.timers.push(after(killAfterMs, () => this.send("SIGKILL")));
  }

  kill(): void {
    if (!this.hasEnded) signalGroup(this.child, "SIGKILL");
  }

  private send(signal: "SIGTERM" | "SIGKILL"): void {
    this.isSignalled = true;
    signalGroup(this.child, signal);
  }

  private onStderrData(chunk: Buffer): void {
    const { stderr } = this.child;
    this.stderr.accept(chunk);
    this.stderrBytes += chunk.byteLength;
    if (this.stderrBytes < maxStderrBytes || stderr.isPaused()) return;
    stderr.pause();
    this.cancelStderrPause = this.options.after(stderrPauseMs, () => {
      this.stderrBytes = 0;
      stderr.resume();
    });
  }

  private onExit(code: number | null, signal: NodeJS.Signals | null): void {
    const { child } = this;
    const reason = this.hasClosedInput && !this.isSignalled ? "" : this.stopReason;
    const how = `${signal ?? `exit code ${code}`}${reason}`;
    for (const stream of [child.stdout, child.stderr]) stream.resume();
    const end = (): void => this.end(how, code === 0);
    child.once("close", end);
    // After a suspension of this process, setImmediate lets the pending input be read first.
    this.timers.push(this.options.after(outputDrainMs, () => void setImmediate(end)));
  }

  private end(how: string, isClean: boolean): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    for (const cancel of this.timers) cancel();
    this.cancelStderrPause?.();
    const { child } = this;
    signalGroup(child, "SIGKILL");
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    this.stdout.end();
    this.stderr.end();
    this.options.ended(how, isClean);
  }
}
