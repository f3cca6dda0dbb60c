// Deletes files that no message uses, and those of conversations that no longer exist.
import type { Clock, Log, Release } from "../../kernel/index.ts";
import { keyOf } from "../../lib/util.ts";
import type { Address, Conversations } from "../conversations/contract.ts";
import type { StoredFile } from "./contract.ts";
import type { Usage } from "./usage.ts";

const dayMs = 86_400_000;
const firstSweepMs = 60_000;
const sweepIntervalMs = 3_600_000;

interface UpkeepOptions {
  readonly usage: Usage;
  readonly conversations: Pick<Conversations, "find"> | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly after: (ms: number, run: () => void) => Release;
}

export class Upkeep {
  private readonly options: UpkeepOptions;
  /** Sessions whose conversation is being deleted, with the time of the latest deletion. */
  private readonly clearing = new Map<string, number>();

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
    this.clearing.set(keyOf(channel, session), this.options.clock.now());
  }

  /** The deletion has ended: the files are deleted immediately. */
  async cleared({ channel, session }: Address): Promise<void> {
    const key = keyOf(channel, session);
    const at = this.clearing.get(key);
    this.clearing.delete(key);
    if (at !== undefined) await this.quietly(() => this.deleteBefore({ channel, session }, at));
  }

  /** Deletes what is older than a day and not used; counts the rest again. */
  async sweep(): Promise<void> {
    const { usage, clock } = this.options;
    const before = clock.now() - dayMs;
    await usage.sweep((file) => this.isKept(file, before), { before });
    await usage.load(true);
  }

  /** The deletion may have failed: the conversation is older than the deletion then. */
  private async deleteBefore(address: Address, at: number): Promise<void> {
    const { usage, conversations } = this.options;
    const found = await conversations?.find(address);
    if (found && found.createdAt < at) return;
    await usage.sweep((file) => file.at > at, { address, before: at });
  }

  /** A message names its file before the conversation has it, so a day passes in any case. */
  private async isKept(file: StoredFile, before: number): Promise<boolean> {
    const { usedAt, at } = file;
    if ((usedAt ?? at) >= before) return true;
    if (usedAt === undefined) return false;
    const found = await this.options.conversations?.find(file);
    return found !== undefined && usedAt >= found.createdAt - dayMs;
  }

  private async quietly(run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      this.options.log.error({ err: error }, "files of deleted conversations were not deleted");
    }
  }
}
