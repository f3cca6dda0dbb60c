// The folder of the records, which one process at a time uses.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, type DoorwardError } from "../../kernel/index.ts";
import { createPrivateFolder, lockFile, type FileLock } from "../../lib/files/index.ts";
import { recordsErrors } from "./errors.ts";

const ending = ".jsonl";
/** In place of the lock of a folder that cannot be written: nothing in it changes. */
const readOnly = {};

export class RecordFolder {
  private readonly path: string;
  private readonly waitMs: number;
  private entering: Promise<FileLock | typeof readOnly> | undefined;

  /** @param waitMs - Milliseconds to wait for another process that stops. */
  constructor(path: string, waitMs: number) {
    this.path = path;
    this.waitMs = waitMs;
  }

  file(collection: string): string {
    return join(this.path, `${collection}${ending}`);
  }

  /** @returns The collections that have a file. */
  async collections(): Promise<readonly string[]> {
    const names = await readdir(this.path).catch((): readonly string[] => []);
    return names
      .filter((name) => !name.startsWith(".") && name.endsWith(ending))
      .map((name) => name.slice(0, -ending.length));
  }

  /**
   * Takes the folder.
   *
   * @returns An object for this holding of the lock.
   * @throws RECORDS_IN_USE if another process has it.
   */
  enter(): Promise<object> {
    this.entering ??= this.lock().catch((error: unknown) => {
      this.entering = undefined;
      throw error;
    });
    return this.entering;
  }

  /** @throws RECORDS_IN_USE if this process was suspended and another one has the folder now. */
  async assertHeld(): Promise<void> {
    const entering = this.entering;
    const lock = await entering;
    if (lock === undefined || !("held" in lock) || (await lock.held())) return;
    if (this.entering === entering) this.entering = undefined;
    throw recordsErrors.RECORDS_IN_USE(this.path, "this process was suspended; try again");
  }

  async leave(): Promise<void> {
    const lock = await this.entering?.catch(() => undefined);
    this.entering = undefined;
    if (lock !== undefined && "release" in lock) await lock.release();
  }

  private async lock(): Promise<FileLock | typeof readOnly> {
    try {
      await createPrivateFolder(this.path);
      return await lockFile(join(this.path, "records"), { waitMs: this.waitMs });
    } catch (error) {
      if (codeOf(error) === "FILE_LOCKED") {
        const { pid } = (error as DoorwardError).details;
        const holder =
          pid === undefined
            ? "on another machine or in another container"
            : `process ${String(pid)}`;
        throw recordsErrors.RECORDS_IN_USE(this.path, holder, { cause: error });
      }
      if (codeOf(error) !== "internal") throw error;
      // The folder cannot be written: its files can be read, and each write says why it fails.
      return readOnly;
    }
  }
}
