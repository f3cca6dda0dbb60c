import type { Channels } from "../channels/index.ts";

/** `waiting`: it ended and is started again soon; `ended`: it ended and stays so; `stopped`: the service stops. */
export type ProgramState = "running" | "waiting" | "ended" | "stopped";

export interface ProgramStatus {
  readonly state: ProgramState;
  /** Program and arguments, for people; without secrets as far as they are known. */
  readonly command: string;
  /** While it runs. */
  readonly pid?: number;
  /** Unix milliseconds; of the state. */
  readonly since: number;
  readonly restarts: number;
  /** How it ended the last time: `exit code 1`, `SIGKILL`, `ENOENT`. */
  readonly lastEnd?: string;
  /** Messages it was given and has not finished, and messages that wait to be given. */
  readonly inWork: number;
  readonly queued: number;
  /** Since the start: messages that were finished, and messages whose sender got an error. */
  readonly answered: number;
  readonly failed: number;
  /** The last lines of its standard error, the oldest first. */
  readonly stderr: readonly StderrLine[];
}
export interface StderrLine {
  /** Unix milliseconds. */
  readonly at: number;
  readonly text: string;
}

/** What pages and the doctor show of the program that answers. */
export interface Program {
  status(): ProgramStatus;
}

export type ProgramEvents = {
  /** The program began, ended or said something on standard error (then at most once a second). */
  "program:state-changed": { state: ProgramState; restarts: number };
};

export type ProgramShape = {
  emits: ProgramEvents;
  needs: { channels: Channels };
  offers: { program: Program; application: string };
};
