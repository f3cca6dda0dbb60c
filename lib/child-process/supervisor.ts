// Keeps the program running: restarts it after an exit and detects a hung one.
import type { Release, Scope } from "../../kernel/index.ts";
import {
  startGuard,
  startProcess,
  type ProcessCommand,
  type ProcessGuard,
  type ProcessOutput,
  type ProgramProcess,
} from "./process.ts";
import type { ProcessState, ProcessStatus } from "./status.ts";

const minBackoffMs = 500;
const maxBackoffMs = 30_000;
/** A program that has run this long is stable; the next pause is the shortest one again. */
const stableAfterMs = 10_000;

interface SupervisorOptions {
  readonly scope: Pick<Scope<Record<never, never>>, "log" | "clock" | "random"> & {
    readonly after: (ms: number, run: () => void) => Release;
  };
  readonly command: ProcessCommand;
  readonly restart: "always" | "on-failure" | "never";
  readonly output: ProcessOutput;
  /** Called when the program accepts lines. */
  readonly started: () => void;
  /** `isDown`: the program does not come back soon, so waiting messages must fail. */
  readonly ended: (how: string, isDown: boolean) => void;
}

/** Restarts the program after a pause that doubles up to 30 s, with jitter. */
export class Supervisor {
  private readonly options: SupervisorOptions;
  private guard: ProcessGuard | undefined;
  private programProcess: ProgramProcess | undefined;
  private readonly facts: { -readonly [K in keyof ProcessStatus]: ProcessStatus[K] };
  /** Exits since the program was last stable. */
  private failures = 0;
  /** True if this process is restarted whatever the setting says. */
  private mustRestart = false;
  /** True if this process is not restarted, whatever the setting says. */
  private mustEnd = false;
  /** True if the owner asked for the next start. */
  private isAskedFor = false;
  private cancelRestart: Release | undefined;
  private cancelStable: Release | undefined;
  private resolveStop = (): void => undefined;

  constructor(options: SupervisorOptions) {
    this.options = options;
    const since = options.scope.clock.now();
    this.facts = { state: "stopped", since, restarts: 0, restartsByOwner: 0 };
  }

  start(): void {
    this.guard = startGuard((error) => {
      this.options.scope.log.warn(
        { err: error },
        "cannot start /bin/sh: if the launcher is killed, the program must exit by itself at " +
          "the end of its input",
      );
    });
    this.launch();
  }

  /** Stops a program that has stopped responding; it is restarted unless `restart` is `never`. */
  restartHung(reason: string): void {
    const { restart, scope } = this.options;
    if (restart === "never" || this.facts.state !== "running") return;
    if (!this.programProcess?.acceptsInput()) return;
    this.mustRestart = true;
    scope.log.warn({ pid: this.programProcess.pid }, `restarting the program: ${reason}`);
    this.programProcess.stop(reason);
  }

  /** Stops a program that cannot do its work. Only the owner restarts it. */
  end(reason: string): void {
    const running = this.running();
    if (running?.acceptsInput() !== true) return;
    this.mustEnd = true;
    this.options.scope.log.warn({ pid: running.pid }, `ending the program: ${reason}`);
    running.stop(reason);
  }

  /**
   * Restarts the program for the owner, whatever `restart` says.
   *
   * @returns False if the kernel is stopping or the process is already ending.
   */
  restart(): boolean {
    if (this.facts.state === "stopped") return false;
    this.failures = 0;
    if (this.facts.state === "running") {
      if (!this.programProcess?.acceptsInput()) return false;
      this.mustRestart = true;
      this.isAskedFor = true;
      this.programProcess.stop("the owner restarted it");
      return true;
    }
    this.cancelRestart?.();
    this.isAskedFor = true;
    this.relaunch();
    return true;
  }

  /** Resolves when the program and all processes it started have ended. */
  async stop(): Promise<void> {
    this.cancelRestart?.();
    this.enter("stopped");
    if (this.programProcess) {
      const ended = new Promise<void>((resolve) => void (this.resolveStop = resolve));
      this.programProcess.stop();
      await ended;
    }
    await this.guard?.close();
    this.guard = undefined;
  }

  /** Kills the program immediately, for the case that `stop` had not enough time. */
  kill(): void {
    this.programProcess?.kill();
  }

  /** @returns The program while it accepts lines. */
  running(): ProgramProcess | undefined {
    return this.facts.state === "running" ? this.programProcess : undefined;
  }

  status(): ProcessStatus {
    return this.facts;
  }

  /** @returns True if the program failed again right after a restart, or is not restarted. */
  isDown(): boolean {
    const { state } = this.facts;
    return state === "ended" || (state === "waiting" && this.failures > 1);
  }

  private enter(state: ProcessState): void {
    this.facts.state = state;
    this.facts.since = this.options.scope.clock.now();
  }

  private launch(): void {
    const { scope, command, output, started } = this.options;
    this.enter("running");
    const { after } = scope;
    this.programProcess = startProcess({
      command,
      after,
      output,
      ended: (how, isClean) => this.onEnded(how, isClean),
    });
    this.cancelStable = after(stableAfterMs, () => {
      this.failures = 0;
    });
    const { pid } = this.programProcess;
    this.guard?.watch(pid);
    if (pid === undefined) return;
    scope.log.info({ pid }, "the program started");
    started();
  }

  private onEnded(how: string, isClean: boolean): void {
    const { scope, restart, ended } = this.options;
    this.cancelStable?.();
    this.programProcess = undefined;
    this.facts.lastEnd = how;
    this.guard?.watch(undefined);
    if (this.facts.state === "stopped") {
      // Channels reject the messages that were not written; their clients may send them again.
      ended(how, false);
      return this.resolveStop();
    }
    this.failures += 1;
    const isWanted = restart === "always" || (restart === "on-failure" && !isClean);
    const isRestarted = this.mustRestart || (isWanted && !this.mustEnd);
    this.mustRestart = this.mustEnd = false;
    this.enter(isRestarted ? "waiting" : "ended");
    const pauseMs = this.nextPauseMs();
    const fields = { how, failures: this.failures };
    if (isRestarted) {
      scope.log.warn(
        { ...fields, restartInMs: Math.round(pauseMs) },
        "the program ended and will be restarted",
      );
      this.cancelRestart = scope.after(pauseMs, () => this.relaunch());
    } else scope.log.warn(fields, "the program ended and will not be restarted");
    ended(how, this.isDown());
  }

  private nextPauseMs(): number {
    const pauseMs = Math.min(maxBackoffMs, minBackoffMs * 2 ** (this.failures - 1));
    return pauseMs * (0.75 + this.options.scope.random(1)[0]! / 1_024);
  }

  private relaunch(): void {
    this.cancelRestart = undefined;
    this.facts.restarts += 1;
    if (this.isAskedFor) this.facts.restartsByOwner += 1;
    this.isAskedFor = false;
    this.launch();
  }
}

/** Consecutive messages that must time out before a program counts as hung. */
const maxTimeoutsInRow = 3;

/**
 * Detects a hung program: consecutive messages timed out, each written after the timeout of the
 * one before, and the program wrote nothing in that time, not even to standard error. A program
 * that has written nothing since its start may still be loading and does not count as hung.
 */
export function createHangDetector(onHung: (reason: string) => void) {
  let currentRound = 0;
  let timeouts = 0;
  let hasWritten = false;

  return {
    /** @returns The round in which a message starts to wait, for `timedOut`. */
    currentRound: () => currentRound,
    timedOut(round: number): void {
      if (round !== currentRound || !hasWritten) return;
      currentRound += 1;
      timeouts += 1;
      if (timeouts === maxTimeoutsInRow)
        onHung(`it did not respond to ${maxTimeoutsInRow} messages in a row`);
    },
    outputReceived(): void {
      hasWritten = true;
      timeouts = 0;
    },
    /** Starts again for a new process. */
    reset(): void {
      hasWritten = false;
      timeouts = 0;
    },
  };
}
