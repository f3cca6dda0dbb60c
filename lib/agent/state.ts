/** The state of one conversation, as a JSON file in `DOORWARD_STATE`. */
import { createHash } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { writeFileAtomic } from "../files/index.ts";

const maxBytes = 16 * 1024 * 1024;

/** JSON values that outlive the program. */
export type AgentState = Record<string, unknown>;

/** Reads and writes the state of a conversation. Without a folder, it lasts for one message. */
export class StateFile {
  readonly values: AgentState;
  private readonly path: string | undefined;
  private stored: string;

  private constructor(path: string | undefined, stored: string) {
    this.path = path;
    this.stored = stored;
    this.values = JSON.parse(stored) as AgentState;
  }

  /** @throws Error if the file cannot be read. */
  static async read(
    folder: string | undefined,
    channel: string,
    session: string,
  ): Promise<StateFile> {
    if (folder === undefined) return new StateFile(undefined, "{}");
    const name = createHash("sha256")
      .update(JSON.stringify([channel, session]))
      .digest("hex");
    const path = join(folder, `${name}.json`);
    const stored = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "{}";
      throw error;
    });
    return new StateFile(path, stored);
  }

  /**
   * Writes the file if a value has changed. A crash leaves the old or the new one.
   *
   * @throws TypeError if a value is not JSON, RangeError above 16 MiB.
   */
  async save(): Promise<void> {
    const text = JSON.stringify(this.values);
    if (text === this.stored) return;
    if (text.length > maxBytes) throw new RangeError("message.state has more than 16 MiB");
    if (this.path !== undefined) {
      await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
      await writeFileAtomic(this.path, text, { mode: 0o600 });
    }
    this.stored = text;
  }
}
