import { randomFillSync } from "node:crypto";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import type { Environment } from "../config/load/index.ts";
import { UsageError } from "./commands/command.ts";

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

/** Random bytes, fetched in blocks: a call costs the system nearly as much for 16 as for 4,096. Each byte is given out
 *  once and forgotten. */
export function createRandom(block = 4_096): (bytes: number) => Uint8Array {
  let ahead = new Uint8Array(0);
  return (bytes) => {
    if (bytes > block) return randomFillSync(new Uint8Array(bytes));
    if (ahead.length < bytes) ahead = randomFillSync(new Uint8Array(block));
    const given = ahead.slice(0, bytes);
    ahead.fill(0, 0, bytes);
    ahead = ahead.subarray(bytes);
    return given;
  };
}

/** Version of the installed package. */
export const { version } = createRequire(import.meta.url)("doorward/package.json") as {
  version: string;
};
