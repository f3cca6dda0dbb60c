// Paths that may not exist.
import { readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

const isMissing = ({ code }: NodeJS.ErrnoException): boolean =>
  code === "ENOENT" || code === "ENOTDIR";

/**
 * Rejects if the system does not say whether it exists, for example without permission.
 *
 * @returns True if there is a file or folder at the path.
 */
export async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (isMissing(error as NodeJS.ErrnoException)) return false;
    throw error;
  }
}

/** @returns The path without links, as far as it exists. A link may lead to a missing target. */
export async function realPath(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const parent = dirname(path);
    if (isMissing(error as NodeJS.ErrnoException)) {
      const target = await readlink(path).catch(() => undefined);
      if (target !== undefined) return realPath(resolve(parent, target));
    }
    return parent === path ? path : join(await realPath(parent), basename(path));
  }
}
