// The clock by which files are deleted, so that a wrong system clock deletes none.
import type { Clock } from "../../kernel/index.ts";
import { SteadyClock } from "../../lib/steady-clock.ts";
import type { Conversations } from "../conversations/contract.ts";
import type { Usage } from "./usage.ts";

interface FileClockOptions {
  readonly clock: Clock;
  readonly usage: Usage;
  readonly conversations: Pick<Conversations, "steadyTime"> | undefined;
}

export class FileClock {
  private readonly options: FileClockOptions;
  private own: SteadyClock | undefined;

  constructor(options: FileClockOptions) {
    this.options = options;
  }

  /** @returns The time of the store of conversations, or one that continues that of the files. */
  async read(): Promise<number> {
    const { clock, usage, conversations } = this.options;
    const time = conversations?.steadyTime?.();
    if (time !== undefined) return time;
    await usage.load();
    // Another node that shares the folder may be ahead.
    if (this.own === undefined || usage.newest > this.own.read())
      this.own = new SteadyClock(clock, usage.newest || undefined);
    return this.own.read();
  }
}
