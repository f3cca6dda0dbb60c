// Deletes files that no message uses, and those of conversations that no longer exist.
import type { Clock, Log, Release } from "../../kernel/index.ts";
import { keyOf } from "../../lib/util.ts";
import type { Address, Conversations } from "../conversations/contract.ts";
import type { MediaStore, StoredFile } from "./contract.ts";
import type { FileClock } from "./file-clock.ts";
import type { Parts } from "./parts.ts";
import type { Usage } from "./usage.ts";

const dayMs = 86_400_000;
const weekMs = 7 * dayMs;
const firstSweepMs = 60_000;
const sweepIntervalMs = 3_600_000;

interface UpkeepOptions {
  readonly usage: Usage;
  readonly store: Pick<MediaStore, "link">;
  readonly fileClock: FileClock;
  readonly parts: Pick<Parts, "sweep" | "deleteOf">;
  readonly conversations: Pick<Conversations, "find"> | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly after: (ms: number, run: () => void) => Release;
}

/** The beginning of a deletion. */
interface Clearing {
  /** Time on the clock by which files are deleted. */
  readonly at: number;
  /** The conversation that is being deleted. */
  readonly conversation: string | undefined;
}

/**
 * Files belong to a conversation by its id, and age on a steady clock: times of the system clock
 * decide nothing.
 */
export class Upkeep {
  private readonly options: UpkeepOptions;
  /** Sessions whose conversation is being deleted, with the latest deletion. */
  private readonly clearing = new Map<string, Promise<Clearing>>();

  constructor(options: UpkeepOptions) {
    this.options = options;
  }

  /** Sweeps once an hour. */
  start(): void {
    const sweep = (): void => {
      void this.quietly(() => this.sweep()).finally(() => {
        this.options.after(sweepIntervalMs, sweep);
      });
    };
    this.options.after(firstSweepMs, sweep);
  }

  /** A conversation is about to be deleted. */
  clear({ channel, session }: Address): void {
    const { fileClock, conversations } = this.options;
    const address = { channel, session };
    const begun = Promise.all([fileClock.read(), conversations?.find(address)]).then(
      ([at, found]) => ({ at, conversation: found?.id }),
    );
    // `cleared` reports it.
    begun.catch(() => undefined);
    this.clearing.set(keyOf(channel, session), begun);
  }

  /** The deletion has ended: the files are deleted immediately. */
  async cleared({ channel, session }: Address): Promise<void> {
    const address = { channel, session };
    const begun = this.clearing.get(keyOf(channel, session));
    this.clearing.delete(keyOf(channel, session));
    if (begun)
      await this.quietly(async () => {
        await this.deleteBefore(address, await begun);
      });
  }

  /** Deletes what is older than a day and not used; counts the rest again. */
  async sweep(): Promise<void> {
    const { usage, clock, fileClock } = this.options;
    await usage.load(true);
    const now = await fileClock.read();
    // Leftovers have times of the system clock only, so both clocks must say that they are old.
    const before = Math.min(now, clock.now()) - dayMs;
    await usage.sweep((file) => this.isKept(file, now), { before });
    await this.options.parts.sweep(before - weekMs);
    await usage.load(true);
  }

  /** If the deletion has failed, the conversation is the one of before. */
  private async deleteBefore(address: Address, { at, conversation }: Clearing): Promise<void> {
    const { usage, conversations } = this.options;
    const found = await conversations?.find(address);
    if (found && found.id === conversation) return;
    // No leftovers are looked for in a session.
    await usage.sweep(({ agedAt = 0 }) => agedAt > at, { address, before: 0 });
    await this.options.parts.deleteOf(address, at);
  }

  /** A message names its file before the conversation has it, so a day passes in any case. */
  private async isKept(file: StoredFile, now: number): Promise<boolean> {
    const { usedAt, agedAt, conversation } = file;
    // Of an earlier version, or of another store: the day begins now.
    if (agedAt === undefined || agedAt > now) {
      await this.options.store.link({ ...file, agedAt: now });
      return true;
    }
    if (agedAt >= now - dayMs) return true;
    if (usedAt === undefined) return false;
    const found = await this.options.conversations?.find(file);
    if (!found) return false;
    if (conversation !== undefined) return conversation === found.id;
    await this.options.store.link({ ...file, conversation: found.id });
    return true;
  }

  private async quietly(run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      this.options.log.error({ err: error }, "files of deleted conversations were not deleted");
    }
  }
}
