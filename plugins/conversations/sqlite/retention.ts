// Deletes conversations that are too old or do not fit, the least recently written first.
import type { Log } from "../../../kernel/index.ts";
import type { Address } from "../messages.ts";
import type { Row } from "./driver.ts";
import { addressOf } from "./live.ts";
import type { Rows, StoreLimits } from "./rows.ts";

interface RetentionOptions {
  readonly rows: Rows;
  readonly log: Log;
  /** Runs a read. */
  readonly reading: <T>(run: () => T) => T;
  /** Runs a change in a transaction of its own, and then `committed` in the same step. */
  readonly exclusively: <T>(run: () => T, committed?: () => void) => Promise<T>;
  /** Deletes the entries of hidden conversations. */
  readonly removeHidden: () => Promise<void>;
}

/** Sessions in memory, whose conversations are deleted only if there is no other room. */
interface RecentSessions {
  hasClient(address: Address): boolean;
  /** The conversation is about to be deleted. Call the result when that has ended. */
  ending(address: Address): () => void;
  /** The conversation was deleted: its session has a new epoch. */
  renew(address: Address): void;
}

/** Removes what belongs to conversations, before they are deleted. */
export type LeavingStep = (addresses: readonly Address[]) => Promise<void>;

/**
 * `isLive`: true for sessions in memory. `recent`: without it, these are never deleted; with it,
 * those without a client are, if the rest does not fit.
 */
export type RetainedSessions = [
  isLive: (address: Address) => boolean,
  recent?: RecentSessions,
  leaving?: LeavingStep,
];

const nothing: LeavingStep = () => Promise.resolve();

export class Retention {
  private readonly options: RetentionOptions;

  constructor(options: RetentionOptions) {
    this.options = options;
  }

  /** @returns How many conversations were deleted. */
  async run(limits: StoreLimits, ...sessions: RetainedSessions): Promise<number> {
    const [isLive, recent, leaving = nothing] = sessions;
    const deleted = await this.deleteUnused(limits, isLive, leaving);
    if (recent) deleted.push(...(await this.deleteRecent(limits, recent, leaving)));
    if (deleted.length === 0) return 0;
    const oldest = deleted.reduce(
      (first, { used_at }) => Math.min(first, Number(used_at)),
      Infinity,
    );
    const fields = { count: deleted.length, oldest: new Date(oldest).toISOString() };
    this.options.log.info(fields, "old conversations were deleted");
    return deleted.length;
  }

  private async deleteUnused(
    limits: StoreLimits,
    isLive: (address: Address) => boolean,
    leaving: LeavingStep,
  ): Promise<Row[]> {
    const { rows, exclusively, removeHidden } = this.options;
    const skip: number[] = [];
    const deleted: Row[] = [];
    const isUnused = (row: Row): boolean => !isLive(addressOf(row));
    for (;;) {
      const found = await exclusively(() => {
        rows.save();
        return rows.expired(limits, skip);
      });
      if (found.length === 0) return deleted;
      const chosen = found.filter(isUnused);
      if (chosen.length > 0) await leaving(chosen.map(addressOf));
      // A client may have connected in the meantime.
      const idle = await exclusively(() => {
        const unused = chosen.filter(isUnused);
        rows.hide(unused);
        return unused;
      });
      for (const row of found) if (!idle.includes(row)) skip.push(Number(row.id));
      deleted.push(...idle);
      await removeHidden();
    }
  }

  /** Deletes what does not fit of the sessions in memory that have no client. */
  private async deleteRecent(
    { maxBytes }: StoreLimits,
    recent: RecentSessions,
    leaving: LeavingStep,
  ): Promise<Row[]> {
    const { rows, reading, exclusively, removeHidden } = this.options;
    const skip: number[] = [];
    const deleted: Row[] = [];
    for (;;) {
      const found = reading(() => rows.expired({ keepDays: 0, maxBytes }, skip));
      if (found.length === 0) return deleted;
      skip.push(...found.map(({ id }) => Number(id)));
      const isIdle = (row: Row): boolean => !recent.hasClient(addressOf(row));
      const chosen = found.filter(isIdle);
      const ended = chosen.map((row) => recent.ending(addressOf(row)));
      let hidden: readonly Row[] = [];
      const hide = (): void => {
        rows.save();
        // A client may have connected in the meantime.
        hidden = chosen.filter(isIdle);
        rows.hide(hidden);
      };
      const renew = (): void => hidden.forEach((row) => recent.renew(addressOf(row)));
      try {
        if (chosen.length > 0) await leaving(chosen.map(addressOf));
        await exclusively(hide, renew);
      } finally {
        for (const end of ended) end();
      }
      deleted.push(...hidden);
      await removeHidden();
    }
  }
}
