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
  if (/^~(?:[/\\]|$)/.test(folder)) {
    throw new UsageError(
      `SERVICE_HOME is "${folder}", and "~" was not expanded by a shell; write an absolute path`,
    );
  }
  return resolve(folder);
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
