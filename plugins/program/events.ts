import type { ProgramState } from "./service.ts";

export type ProgramEvents = {
  /** The program began, ended or said something on standard error (then at most once a second). */
  "program:state-changed": { state: ProgramState; restarts: number };
};
