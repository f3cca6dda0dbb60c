// Runs the command of the owner that decides about a new file, such as a virus scanner.
import { spawn } from "node:child_process";
import { pipeline } from "node:stream/promises";
import type { Clock } from "../../kernel/index.ts";
import { runningTimerOf } from "../../lib/running-time.ts";
import type { ArrivedContent } from "./contract.ts";
import { mediaErrors } from "./errors.ts";

const timeoutMs = 300_000;

/**
 * Passes the content to the standard input of the command.
 *
 * @throws file_rejected unless the command ends with 0.
 * @throws media_unavailable if the command does not start, or does not end in time.
 */
export async function runCheck(
  [command = "", ...words]: readonly string[],
  content: ArrivedContent,
  { clock, searchPath }: { readonly clock: Clock; readonly searchPath: string },
): Promise<void> {
  const child = spawn(command, words, {
    stdio: ["pipe", "ignore", "ignore"],
    env: { PATH: searchPath },
  });
  const stopTimer = runningTimerOf(clock)(timeoutMs, () => child.kill("SIGKILL"));
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  try {
    // A command may decide before it has read everything, and closes its input then.
    const written = child.stdin && pipeline(content.open(), child.stdin).catch(() => undefined);
    const [status] = await Promise.all([ended, written]);
    if (status === 0) return;
    if (status !== null) throw mediaErrors.file_rejected();
    throw mediaErrors.media_unavailable();
  } catch (error) {
    const isSystem = (error as NodeJS.ErrnoException).syscall !== undefined;
    throw isSystem ? mediaErrors.media_unavailable({ cause: error }) : error;
  } finally {
    stopTimer();
  }
}
