// A log file that is renamed when it is full.
import { closeSync, lstatSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import {
  createPrivateFolder,
  openRegularFileSync,
  restrictSecretFile,
} from "../../lib/files/index.ts";

export interface RotationOptions {
  /** The file is renamed to `.1` above this size. @defaultValue 5 MiB */
  readonly maxBytes?: number;
  /** Number of renamed files to keep. @defaultValue 5 */
  readonly keep?: number;
}

/**
 * Opens a log file (0600, in a folder of 0700). `write` is synchronous, so no line is lost when the
 * process ends. Drops a line that it cannot write and calls `failed`.
 *
 * @throws If the file cannot be opened.
 */
export async function openLogFile(
  path: string,
  failed: (error: Error) => void,
  { maxBytes = 5 * 1024 * 1024, keep = 5 }: RotationOptions = {},
) {
  await createPrivateFolder(dirname(path));
  let size = sizeOf(path);
  await restrictSecretFile(path);
  let file: number | undefined = openRegularFileSync(path, "append");
  let isLineOpen = false;
  const rotateNow = (old: number) => {
    size = 0;
    rotate(path, keep);
    file = openRegularFileSync(path, "append");
    closeSync(old);
  };
  const append = (to: number, bytes: Buffer) => {
    let written = 0;
    try {
      while (written < bytes.length) written += writeSync(to, bytes, written);
    } finally {
      size += written;
      if (written > 0) isLineOpen = bytes[written - 1] !== 10;
    }
  };
  return {
    write(line: string): void {
      const bytes = Buffer.from(isLineOpen ? `\n${line}` : line);
      const isFull = size > 0 && size + bytes.length > maxBytes;
      if (isFull && file !== undefined) tryWrite(rotateNow, file, failed);
      if (file !== undefined) tryWrite((to) => append(to, bytes), file, failed);
    },
    close(): void {
      if (file !== undefined) tryWrite(closeSync, file, failed);
      file = undefined;
    },
  };
}

function tryWrite(run: (file: number) => void, file: number, failed: (error: Error) => void): void {
  try {
    run(file);
  } catch (error) {
    failed(error as Error);
  }
}

/** Returns 0 for a new file. Throws for anything but a file: opening a pipe would block. */
function sizeOf(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false });
  const isOther = found
    ? !found.isFile()
    : lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  if (isOther) throw Object.assign(new Error(`${path} is not a file`), { code: "EINVAL" });
  return found?.size ?? 0;
}

function rotate(path: string, keep: number): void {
  rmSync(`${path}.${keep}`, { force: true });
  for (let number = keep - 1; number >= 1; number--)
    moveFile(`${path}.${number}`, `${path}.${number + 1}`);
  if (keep > 0) moveFile(path, `${path}.1`);
  else rmSync(path, { force: true });
}

function moveFile(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
