// Finds the home and the version.
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import type { Environment } from "../config/load/index.ts";
import { UsageError } from "./commands/command.ts";

/**
 * Finds the folder of all files: `$SERVICE_HOME`, else `~/.service`.
 *
 * @throws UsageError if neither names a folder.
 */
export function homeOf(env: Environment): string {
  const folder = env["SERVICE_HOME"]?.trim();
  if (!folder) return join(userHome(), ".service");
  const problem = unexpanded(folder);
  if (problem)
    throw new UsageError(
      `SERVICE_HOME is ${JSON.stringify(folder)}, and ${problem}; write an absolute path`,
    );
  return resolve(folder);
}

/** Env files of containers and services take quotes and variables as they are. */
function unexpanded(folder: string): string | undefined {
  if (/^~(?:[/\\]|$)/.test(folder)) return '"~" was not expanded by a shell';
  if (/\$(?:\w|\{)|%\w+%/.test(folder)) return "a variable in it was not expanded by a shell";
  if (/^["'\u2018-\u201f]|["'\u2018-\u201f]$/.test(folder))
    return "its quotes were not removed by a shell";
  return undefined;
}

/** Fails for users without a home, as in some containers. */
function userHome(): string {
  let folder = "";
  try {
    folder = homedir();
  } catch {
    // reported below
  }
  if (isAbsolute(folder)) return folder;
  throw new UsageError(
    "This user has no home folder. Set SERVICE_HOME to the folder for all files.",
  );
}

/** Version of the installed package. */
export const { version } = createRequire(import.meta.url)("doorward/package.json") as {
  version: string;
};
