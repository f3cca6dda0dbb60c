// The state of a supervised process, and the lines that it writes to standard error.

/**
 * State of the program. `waiting`: it ended and will be restarted; `ended`: it ended and will not
 * be restarted; `stopped`: the kernel stops it.
 */
export type ProcessState = "running" | "waiting" | "ended" | "stopped";

/** State of a supervised process, and its restarts. */
export interface ProcessStatus {
  /** State of the process; `since` is its start. */
  readonly state: ProcessState;
  /** Start of the current state in Unix milliseconds. */
  readonly since: number;
  /** Restarts since the kernel started. */
  readonly restarts: number;
  /** Those of them that the owner asked for. */
  readonly restartsByOwner: number;
  /** How the program ended the last time: `exit code 1`, `SIGKILL`, `ENOENT`. */
  readonly lastEnd?: string;
}

/** A line of standard error. */
export interface StderrLine {
  /** Unix milliseconds. */
  readonly at: number;
  /** The line without its end and without known secrets. Long lines are cut. */
  readonly text: string;
}
