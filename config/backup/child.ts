// Makes a backup in a process of its own, with the command: a copy blocks its thread for seconds.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { constants, setPriority } from "node:os";
import { dirname, join } from "node:path";
import { isObject } from "../../lib/util.ts";
import type { MadeBackup } from "../../plugins/backup/index.ts";
import type { Environment } from "../load/index.ts";
import { toMade, type BackupResult } from "./create.ts";

interface ChildOptions {
  readonly home: string;
  readonly env: Environment;
  readonly signal: AbortSignal;
}

/** `doorward.js` of this installation. */
const ownScript = (): string =>
  join(
    dirname(createRequire(import.meta.url).resolve("doorward/package.json")),
    "dist",
    "bin",
    "doorward.js",
  );

/** Many times the size of a result. */
const maxOutput = 1024 * 1024;

/** @throws an error with a sentence for the owner. */
export async function backupInChild(
  file: string,
  { home, env, signal }: ChildOptions,
): Promise<MadeBackup> {
  const child = spawn(process.execPath, [ownScript(), "backup", file, "-json"], {
    env: { ...env, SERVICE_HOME: home },
    signal,
    stdio: ["ignore", "pipe", "ignore"],
    windowsHide: true,
  });
  if (child.pid !== undefined) yieldTo(child.pid);
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output = (output + text).slice(0, maxOutput);
  });
  const code = await new Promise<number | null>((done, failed) => {
    child.once("error", failed);
    child.once("close", done);
  });
  const result = parse(output);
  if (code === 0 && result !== undefined) return toMade(result as unknown as BackupResult);
  const message = result?.["message"];
  throw new Error(
    typeof message === "string" ? message : `The process of the backup ended with code ${code}.`,
  );
}

function parse(output: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(output);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Messages are more important than a backup. */
function yieldTo(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // It has ended, or the system has no priorities.
  }
}
