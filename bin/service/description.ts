// How the files and steps of a service manager are described.
import type { Environment } from "../../config/load/index.ts";

/** The launcher that a service starts. */
export interface ServiceTarget {
  /** `doorward`, with a suffix for each home that is not the default one. */
  readonly name: string;
  readonly home: string;
  readonly isDefaultHome: boolean;
  /** Path of Node. */
  readonly node: string;
  /** Path of `doorward.js`. */
  readonly script: string;
  /** Home folder of the user. */
  readonly userHome: string;
  readonly env: Environment;
  /** Variables that the service gets, such as PATH. */
  readonly variables: Environment;
}

/** A call of a program of the service manager. */
export interface Step {
  readonly command: readonly [program: string, ...words: string[]];
  /** The purpose of the step may already be fulfilled, which the program reports as a failure. */
  readonly mayFail?: boolean;
}

/** Result of a step. */
export interface StepResult {
  /** Undefined: the program does not exist. */
  readonly code: number | undefined;
  readonly output: string;
}

/** How one operating system keeps the launcher running. It only describes: the command acts. */
export interface ServiceManager {
  /** `systemd user unit`. */
  readonly title: string;
  /** No test runs it on its operating system. */
  readonly isExperimental: boolean;
  readonly file: string;
  readonly content: string;
  readonly encoding: "utf8" | "utf16le";
  /** Succeeds if the service manager can be reached. Undefined: it always can. */
  readonly probe?: Step;
  /** @returns One or two sentences for a failed probe. */
  explain(result: StepResult): string;
  /** Load the file, and start the service now and at each sign-in.
   *  @param isChanged - The service must restart, since it may run with the file before. */
  install(isChanged: boolean): readonly Step[];
  /** Stop the service and forget it. The file exists until these have run. */
  readonly uninstall: readonly Step[];
  /** Steps after the file was removed. */
  readonly removed?: readonly Step[];
  readonly query: Step;
  /** @returns The state that `query` prints: `active (running)`. Undefined: not known to it. */
  state(result: StepResult): string | undefined;
  /** @returns What `query` prints about the past: `Restarts`, `2`. */
  readonly history?: (result: StepResult) => readonly (readonly [name: string, text: string])[];
  /** Prints the last lines of the service. */
  readonly log?: Step;
  readonly user: string;
  /** True if it runs from boot on; absent on systems without lingering. */
  readonly lingers?: boolean;
  /** A sentence for the user after the installation. */
  readonly hint?: string;
}
