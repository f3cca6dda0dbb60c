import { constants, accessSync, lstatSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { pino } from "pino";
import { makeFolder, narrowSecret } from "../../config/files/index.ts";

export interface RotationOptions {
  /** Bytes after which the file is renamed to `.1`; default 5 MiB. */
  readonly maxBytes?: number;
  /** How many renamed files are kept; default 5. */
  readonly keep?: number;
}

export interface LogFile {
  write(line: string): void;
  close(): void;
}

/** Bytes held back while the disk is full; more is dropped. */
const maxHeld = 1024 * 1024;

/** A log file (0600, in a folder of 0700) that always has the same name. A line is with the system when `write` returns:
 *  none is lost when the process ends. Errors of single writes go to `failed`; opening rejects. */
export async function openLogFile(
  file: string,
  failed: (error: Error) => void,
  { maxBytes = 5 * 1024 * 1024, keep = 5 }: RotationOptions = {},
): Promise<LogFile> {
  await makeFolder(dirname(file));
  let size = sizeOf(file);
  await narrowSecret(file);
  const destination = pino.destination({ dest: file, append: true, sync: true, mode: 0o600, maxLength: maxHeld });
  destination.on("error", failed);
  return {
    write(line) {
      const bytes = Buffer.byteLength(line);
      if (size > 0 && size + bytes > maxBytes) {
        size = 0;
        guarded(() => rotate(file, keep), failed);
        guarded(() => destination.reopen(), failed);
      }
      size += bytes;
      destination.write(line);
    },
    close() {
      guarded(() => destination.flushSync(), failed);
      destination.end();
    },
  };
}

/** Zero for a new file. Anything but a file is refused here: opening a pipe would wait for ever. */
function sizeOf(file: string): number {
  accessSync(dirname(file), constants.W_OK);
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found) return lstatSync(file, { throwIfNoEntry: false }) ? refuse(file) : 0;
  return found.isFile() ? found.size : refuse(file);
}

function refuse(file: string): never {
  throw Object.assign(new Error(`${file} is not a file`), { code: "EINVAL" });
}

function rotate(file: string, keep: number): void {
  rmSync(`${file}.${keep}`, { force: true });
  for (let number = keep - 1; number >= 1; number--) moved(`${file}.${number}`, `${file}.${number + 1}`);
  if (keep > 0) moved(file, `${file}.1`);
  else rmSync(file, { force: true });
}

function moved(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

function guarded(run: () => void, failed: (error: Error) => void): void {
  try {
    run();
  } catch (error) {
    failed(error as Error);
  }
}
