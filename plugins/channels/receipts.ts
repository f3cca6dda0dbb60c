import type { Receipt } from "./service.ts";

const mostTracked = 10_000;
const rank = { buffered: 1, written: 2, delivered: 3, undelivered: 3 } as const;

interface Tracked {
  readonly channel: string;
  readonly session: string;
  latest: Receipt | undefined;
}

/** Statuses of what was sent: they only grow, and each growth is announced. */
export interface Receipts {
  /** Before the channel is asked to send, so that news which overtakes its answer is not lost. */
  track(channel: string, session: string, id: string): {
    /** What the channel answered, or the news that overtook it. */
    answered(receipt: Receipt): Receipt;
    failed(): void;
  };
  news(channel: string, session: string, receipt: Receipt): void;
}

export function createReceipts(announce: (channel: string, session: string, receipt: Receipt) => void): Receipts {
  const tracked = new Map<string, Tracked>();

  /** `false`: the status does not grow. */
  function keep(entry: Tracked, receipt: Receipt): boolean {
    if (entry.latest && rank[receipt.status] <= rank[entry.latest.status]) return false;
    entry.latest = receipt;
    const isFinal = rank[receipt.status] === rank.delivered;
    if (isFinal && tracked.get(receipt.id) === entry) tracked.delete(receipt.id);
    return true;
  }

  return {
    track(channel, session, id) {
      const entry: Tracked = { channel, session, latest: undefined };
      tracked.delete(id);
      tracked.set(id, entry);
      if (tracked.size > mostTracked) tracked.delete(tracked.keys().next().value!);
      return {
        answered(receipt) {
          keep(entry, receipt);
          return entry.latest ?? receipt;
        },
        failed() {
          if (tracked.get(id) === entry) tracked.delete(id);
        },
      };
    },

    news(channel, session, receipt) {
      const entry = tracked.get(receipt.id);
      if (entry?.channel === channel && entry.session === session && keep(entry, receipt)) {
        announce(channel, session, receipt);
      }
    },
  };
}
