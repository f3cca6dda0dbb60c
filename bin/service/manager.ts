// Describes the service of a home for the service manager of each operating system.
import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { Environment } from "../../config/load/index.ts";
import { launchd } from "./launchd.ts";
import { scheduledTask } from "./scheduled-task.ts";
import { systemd } from "./systemd.ts";

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
  uninstall(): readonly Step[];
  /** Steps after the file was removed. */
  removed(): readonly Step[];
  readonly query: Step;
  /** @returns The state that `query` prints: `active (running)`. Undefined: not known to it. */
  state(result: StepResult): string | undefined;
  /** What the user should know after the installation. */
  readonly hint?: string;
}

interface TargetOptions {
  readonly home: string;
  readonly env: Environment;
  readonly node: string;
  readonly script: string;
}

/** @throws an error for a path that could add lines to a file of a service manager. */
export function serviceTarget({ home, env, node, script }: TargetOptions): ServiceTarget {
  for (const path of [home, node, script]) {
    if (/\p{Cc}/u.test(path)) {
      throw new Error(
        `The service cannot use a path with a line break or another control character: ` +
          JSON.stringify(path),
      );
    }
  }
  const userHome = env["HOME"]?.trim() || homedir();
  const isDefaultHome = resolve(home) === join(userHome, ".service");
  const hash = createHash("sha256").update(resolve(home)).digest("hex").slice(0, 8);
  const name = isDefaultHome ? "doorward" : `doorward-${hash}`;
  return { name, home: resolve(home), isDefaultHome, node, script, userHome, env };
}

/** npm may clear this folder, and the service would then no longer start. */
export const isInNpxCache = (script: string): boolean => /[\\/]_npx[\\/]/.test(script);

const managers: Partial<Record<NodeJS.Platform, (target: ServiceTarget) => ServiceManager>> = {
  linux: systemd,
  darwin: launchd,
  win32: scheduledTask,
};

/** @returns Undefined for an operating system without a known service manager. */
export const serviceManager = (
  platform: NodeJS.Platform,
  target: ServiceTarget,
): ServiceManager | undefined => managers[platform]?.(target);
