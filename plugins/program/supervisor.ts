import type { Release, Scope } from "../../kernel/index.ts";
import {
  startGuard,
  startProcess,
  type ProcessGuard,
  type ProcessOptions,
  type ProgramProcess,
} from "./process.ts";
import type { ProgramState } from "./service.ts";

const minBackoffMs = 500;
const maxBackoffMs = 30_000;
/** Whoever has run this long is well: pauses begin anew. */
const stableAfterMs = 10_000;

export interface SupervisorOptions
  extends
    Omit<ProcessOptions, "after" | "ended">,
    Pick<Scope<Record<never, never>>, "log" | "clock" | "random"> {
  readonly after: (ms: number, run: () => void) => Release;
  readonly restart: "always" | "on-failure" | "never";
  /** It takes lines, from the first one on. */
  readonly up: () => void;
  /** `isDown`: it is not coming back soon, what waits for it waits in vain. */
  readonly down: (how: string, isDown: boolean) => void;
}

export interface Supervisor {
  start(): void;
  /** Ends a program that no longer answers; it is started again, unless it never is. */
  revive(why: string): void;
  /** Resolves when it and all it started have gone. */
  stop(): Promise<void>;
  /** Ends it at once, when `stop` was not given its time. */
  kill(): void;
  /** The program while it takes lines. */
  running(): ProgramProcess | undefined;
  readonly state: () => ProgramState;
  readonly since: () => number;
  readonly restarts: () => number;
  readonly lastEnd: () => string | undefined;
  /** It has failed again right after a restart, or stays away. */
  readonly isDown: () => boolean;
}

/** Keeps the program running: after an end a pause that doubles, with chance, up to 30 s. */
export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { log, clock, after, random, restart, up, down } = options;
  let guard: ProcessGuard | undefined;
  let programProcess: ProgramProcess | undefined;
  let state: ProgramState = "stopped";
  let since = clock.now();
  let restarts = 0;
  let failures = 0;
  let lastEnd: string | undefined;
  let isHung = false;
  let cancelRestart: Release | undefined;
  let cancelHealthy: Release | undefined;
  let stopped = (): void => undefined;

  function enter(next: ProgramState): void {
    state = next;
    since = clock.now();
  }

  function launch(): void {
    enter("running");
    programProcess = startProcess({ ...options, ended });
    cancelHealthy = after(stableAfterMs, () => {
      failures = 0;
    });
    guard?.watch(programProcess.pid);
    if (programProcess.pid === undefined) return;
    log.info({ pid: programProcess.pid }, "the program runs");
    up();
  }

  function ended(how: string, isClean: boolean): void {
    cancelHealthy?.();
    programProcess = undefined;
    lastEnd = how;
    guard?.watch(undefined);
    if (state === "stopped") {
      down(how, false); // what it was never given is refused by the channels, and may be sent again
      return stopped();
    }
    failures += 1;
    const comesBack = restart === "always" || isHung || (restart === "on-failure" && !isClean);
    isHung = false;
    enter(comesBack ? "waiting" : "ended");
    const pauseMs =
      Math.min(maxBackoffMs, minBackoffMs * 2 ** (failures - 1)) * (0.75 + random(1)[0]! / 1_024);
    const fields = { how, failures, ...(comesBack ? { restartInMs: Math.round(pauseMs) } : {}) };
    log.warn(
      fields,
      comesBack ? "the program ended and is started again" : "the program ended and stays so",
    );
    if (comesBack) cancelRestart = after(pauseMs, relaunch);
    down(how, isDown());
  }

  function relaunch(): void {
    cancelRestart = undefined;
    restarts += 1;
    launch();
  }

  const isDown = (): boolean => state === "ended" || (state === "waiting" && failures > 1);

  return {
    start() {
      guard = startGuard((error) => {
        log.warn(
          { err: error },
          "no guard: if the launcher is killed, only the end of its input tells the program",
        );
      });
      failures = 0;
      launch();
    },
    revive(why) {
      if (restart === "never" || state !== "running" || !programProcess?.takes()) return;
      isHung = true;
      log.warn({ pid: programProcess.pid }, `the program is ended and started again: ${why}`);
      programProcess.stop(why);
    },
    async stop() {
      cancelRestart?.();
      enter("stopped");
      if (programProcess) {
        const gone = new Promise<void>((done) => void (stopped = done));
        programProcess.stop();
        await gone;
      }
      await guard?.close();
      guard = undefined;
    },
    kill: () => programProcess?.kill(),
    running: () => (state === "running" ? programProcess : undefined),
    state: () => state,
    since: () => since,
    restarts: () => restarts,
    lastEnd: () => lastEnd,
    isDown,
  };
}

/** Messages without an answer after which a program is taken for hung. */
const maxTimeoutsInRow = 3;

/** Knows when a program has stopped answering: messages timed out one after the other, each begun when the one before
 *  had timed out, and it wrote nothing meanwhile, on standard error either. One that has not said anything since it was
 *  started may still be loading. */
export interface HangDetector {
  /** A message begins to wait; `passed` takes the answer when its time is over. */
  mark(): number;
  passed(mark: number): void;
  broken(): void;
  /** Another process. */
  begin(): void;
}

export function createHangDetector(hung: (why: string) => void): HangDetector {
  let round = 0;
  let unanswered = 0;
  let hasSpoken = false;

  return {
    mark: () => round,
    passed(mark) {
      if (mark !== round || !hasSpoken) return;
      round += 1;
      unanswered += 1;
      if (unanswered === maxTimeoutsInRow)
        hung(`it gave no sign of ${maxTimeoutsInRow} messages in a row`);
    },
    broken() {
      hasSpoken = true;
      unanswered = 0;
    },
    begin() {
      hasSpoken = false;
      unanswered = 0;
    },
  };
}
