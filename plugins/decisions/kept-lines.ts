// Keeps a line of each decision of a deleted conversation, without anything that was said.
import { codeOf, type Clock, type Log } from "../../kernel/index.ts";
import { SteadyClock } from "../../lib/steady-clock.ts";
import type { Address, Conversations } from "../conversations/contract.ts";
import type { Records } from "../records/index.ts";
import type { DecisionLine } from "./contract.ts";
import { linesIn, readTurns } from "./read.ts";

/** The lines of one deleted conversation, or a part of them. */
export interface KeptLines {
  /** When they were written, on a clock that one wrong system time does not move. */
  readonly age: number;
  readonly lines: readonly DecisionLine[];
}

const linesPerRecord = 200;
const dayMs = 86_400_000;
/** The record with the time of the clock. */
const clockKey = "clock";

interface KeptLinesOptions {
  readonly records: Records<KeptLines>;
  readonly conversations: Pick<Conversations, "find" | "read">;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: (bytes: number) => Uint8Array;
  readonly keepDays: () => number;
}

export class LinesOfDeleted {
  private readonly options: KeptLinesOptions;
  private steady: SteadyClock | undefined;
  /** Conversations whose lines were written before their deletion -> the keys of these records. */
  private readonly leaving = new Map<string, readonly string[]>();

  constructor(options: KeptLinesOptions) {
    this.options = options;
  }

  /** Writes the lines of conversations that are about to be deleted. */
  readonly note = async (addresses: readonly Address[]): Promise<void> => {
    if (this.options.keepDays() === 0) return;
    for (const address of addresses) await this.noteOne(address);
  };

  /** @returns The lines of deleted conversations. */
  async list(): Promise<readonly DecisionLine[]> {
    const pending = await this.pendingKeys();
    const found = await this.options.records.list();
    return found
      .filter(({ key }) => key !== clockKey && !pending.has(key))
      .flatMap(({ value }) => value.lines);
  }

  /** Removes the lines that are too old; all of them if none are kept. */
  async purge(): Promise<void> {
    const { records, keepDays } = this.options;
    const now = (await this.clock()).read();
    await records.put(clockKey, { age: now, lines: [] });
    const oldest = now - keepDays() * dayMs;
    for (const { key, value, version } of await records.list())
      if (key !== clockKey && (keepDays() === 0 || value.age < oldest))
        await records.remove(key, { version });
  }

  /** Conversations may stay although they were about to be deleted: a client has connected. */
  private async pendingKeys(): Promise<ReadonlySet<string>> {
    const keys: string[] = [];
    for (const [name, written] of [...this.leaving]) {
      const [channel = "", session = ""] = JSON.parse(name) as string[];
      if (await this.options.conversations.find({ channel, session })) keys.push(...written);
      else this.leaving.delete(name);
    }
    return new Set(keys);
  }

  private async noteOne({ channel, session }: Address): Promise<void> {
    const { conversations, records, random } = this.options;
    const found = await conversations.find({ channel, session });
    if (!found) return;
    const { turns } = await readTurns(conversations, found.id);
    const name = JSON.stringify([channel, session]);
    for (const key of this.leaving.get(name) ?? []) await records.remove(key);
    const newId = (): string => Buffer.from(random(12)).toString("hex");
    const lines = linesIn(turns).map((line) => ({ ...line, id: newId() }));
    const age = (await this.clock()).read();
    const keys: string[] = [];
    for (let from = 0; from < lines.length; from += linesPerRecord) {
      const key = newId();
      await this.put(key, { age, lines: lines.slice(from, from + linesPerRecord) });
      keys.push(key);
    }
    if (keys.length > 0) this.leaving.set(name, keys);
  }

  /** Makes room by removing the oldest lines. */
  private async put(key: string, value: KeptLines): Promise<void> {
    const { records, log } = this.options;
    try {
      await records.put(key, value);
    } catch (error) {
      if (codeOf(error) !== "records_full") throw error;
      const listed = (await records.list()).filter((each) => each.key !== clockKey);
      const oldest = listed.toSorted((a, b) => a.value.age - b.value.age).slice(0, 100);
      for (const each of oldest) await records.remove(each.key);
      log.warn({ records: oldest.length }, "the oldest lines about decisions were removed");
      await records.put(key, value);
    }
  }

  private async clock(): Promise<SteadyClock> {
    const saved = await this.options.records.get(clockKey);
    return (this.steady ??= new SteadyClock(this.options.clock, saved?.value.age));
  }
}
