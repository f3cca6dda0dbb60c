import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { handlerErrors } from "./errors.ts";

const canRun = async (path: string): Promise<boolean> => {
  const isFile = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
  return (
    isFile &&
    access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
  );
};

/** The file that the system would run for the first word of a command. Rejects `PROGRAM_NOT_FOUND`. */
export async function findProgram(word: string, cwd: string, searchPath: string): Promise<string> {
  if (process.platform === "win32") return word; // it tries suffixes and folders of its own
  if (word.includes("/")) {
    const path = resolve(cwd, word);
    if (await canRun(path)) return path;
    const why = `${path} is no file that may be run; look at its name, or make it one: chmod +x ${path}`;
    throw handlerErrors.PROGRAM_NOT_FOUND(word, why);
  }
  for (const folder of searchPath.split(delimiter)) {
    const path = resolve(cwd, join(folder || ".", word));
    if (await canRun(path)) return path;
  }
  const where = `no folder of PATH (${searchPath || "empty"}) has it; install it, or name it by its whole path`;
  throw handlerErrors.PROGRAM_NOT_FOUND(word, where);
}
