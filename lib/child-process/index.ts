/** Runs a program of the owner as a child process, and keeps it running. */
export { OutputLog, plainText } from "./output-log.ts";
export type { ProgramProcess } from "./process.ts";
export type { ProcessState, ProcessStatus, StderrLine } from "./status.ts";
export { createHangDetector, Supervisor } from "./supervisor.ts";
