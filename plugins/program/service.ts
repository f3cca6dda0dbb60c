// The service of the program plugin, its status and its event.
import type { ProcessState, ProcessStatus, StderrLine } from "../../lib/child-process/index.ts";
import type { Channels, ChannelsEvents } from "../channels/index.ts";
import type { MediaFiles } from "../media/index.ts";

export type { ProcessState as ProgramState, ProcessStatus, StderrLine };

/** Status of the program for pages and the doctor. */
export interface ProgramStatus extends ProcessStatus {
  /** Program and arguments, without known secrets. */
  readonly command: string;
  /** Process identifier, while the program runs. */
  readonly pid?: number;
  /** Messages that the program has received and not finished. */
  readonly inWork: number;
  /** Messages that wait to be written to the program. */
  readonly queued: number;
  /** Messages finished since the kernel started. */
  readonly answered: number;
  /** Messages since the kernel started whose sender received an error. */
  readonly failed: number;
  /** Messages that a client stopped since the kernel started. */
  readonly stopped: number;
  /** Lines about stopped messages that were dropped since the kernel started. */
  readonly dropped: number;
  /** True if the running program said in a `ready` line that it handles `message.stop`. */
  readonly knowsStop: boolean;
  /** Stopped messages that the running program has not ended within the grace period. */
  readonly stopTimeouts: number;
  /** Lines of standard output since the start of the process that are not messages. */
  readonly invalidLines: number;
  /** The latest of them, at most 2,000 characters without known secrets, and why it is invalid. */
  readonly lastInvalidLine?: {
    /** The line. */
    readonly text: string;
    /** One sentence about what is wrong. */
    readonly reason: string;
  };
  /** Latest lines of standard error, oldest first. */
  readonly stderr: readonly StderrLine[];
}
/** Service with the status of the program, and its restart. */
export interface Program {
  /** Describes the process, its queue and its latest output. */
  status(): ProgramStatus;
  /**
   * Ends the program and starts it again, whatever the setting `restart` says. Messages in progress
   * fail with `application_ended`; waiting ones go to the new process.
   *
   * @returns False if the kernel is stopping or the process is already ending.
   */
  restart(): boolean;
}

/** Events of the program plugin. */
export type ProgramEvents = {
  /**
   * The program started, ended, announced what it can do, ignored a stop, or wrote to standard
   * error or an invalid line (at most once per second). `restarts`: since the kernel started.
   */
  "program:state-changed": { state: ProcessState; restarts: number };
};

/** Types of the program plugin for the kernel. */
export type ProgramShape = {
  /** Changes of the program state. */
  emits: ProgramEvents;
  /** Stopped messages and deleted conversations. */
  listens: Pick<
    ChannelsEvents,
    "channels:stop-asked" | "channels:stop-timed-out" | "channels:session-cleared"
  >;
  /** The channels service, whose messages the program receives. */
  needs: { channels: Channels };
  /** Files of messages, which the program reads and answers with. */
  uses: { media: MediaFiles };
  /** The status of the program, and the mark of the one application of a kernel. */
  offers: { program: Program; application: string };
};
