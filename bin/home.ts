import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import type { Environment } from "../config/load/index.ts";
import { UsageError } from "./usage.ts";

/** The folder of all files: `$SERVICE_HOME`, else `~/.service`. Throws `UsageError` when neither names one. */
export function homeOf(env: Environment): string {
  const named = env["SERVICE_HOME"]?.trim();
  if (!named) return join(userHome(), ".service");
  if (/^~(?:[/\\]|$)/.test(named)) {
    throw new UsageError(
      `SERVICE_HOME is "${named}": no shell has replaced "~" by your folder; write the whole path`,
    );
  }
  return resolve(named);
}

/** Users of containers may have none. */
function userHome(): string {
  let folder = "";
  try {
    folder = homedir();
  } catch {
    // said below
  }
  if (isAbsolute(folder)) return folder;
  throw new UsageError(
    "this user has no home folder; name the folder for all files in SERVICE_HOME",
  );
}
