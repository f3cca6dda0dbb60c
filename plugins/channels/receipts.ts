import type { PortReceipt, Receipt } from "./service.ts";

const mostTracked = 10_000;
const rank = { buffered: 1, written: 2, delivered: 3, undelivered: 3 } as const;

/** A message of which news may come. */
export interface Tracked {
  readonly channel: string;
  readonly session: string;
  readonly id: string;
  latest: Receipt | undefined;
}

/** Statuses of what was sent: they only grow, and each growth is announced. */
export interface Receipts {
  /** Before the channel is asked to send, so that news which overtakes its answer is not lost. */
  track(channel: string, session: string, id: string): Tracked;
  /** What the channel answered, or the news that overtook it. */
  answered(tracked: Tracked, receipt: PortReceipt): Receipt;
  failed(tracked: Tracked): void;
  news(channel: string, session: string, receipt: Receipt): void;
}

export function createReceipts(announce: (channel: string, session: string, receipt: Receipt) => void): Receipts {
  /* The newest, and those before them, which leave all at once: a map that loses its first key with each new one finds
   * the next one slowly. */
  let newest = new Map<string, Tracked>();
  let older = new Map<string, Tracked>();

  function forget(entry: Tracked): void {
    const { id } = entry;
    if ((newest.get(id) ?? older.get(id)) !== entry) return;
    newest.delete(id);
    older.delete(id);
  }

  /** `false`: the status does not grow. */
  function keep(entry: Tracked, receipt: Receipt): boolean {
    if (entry.latest && rank[receipt.status] <= rank[entry.latest.status]) return false;
    entry.latest = receipt;
    if (rank[receipt.status] === rank.delivered) forget(entry);
    return true;
  }

  return {
    track(channel, session, id) {
      const entry: Tracked = { channel, session, id, latest: undefined };
      if (newest.size === mostTracked) {
        older = newest;
        newest = new Map();
      }
      newest.set(id, entry);
      return entry;
    },

    answered(entry, { status, reason, isLast = false }) {
      keep(entry, reason === undefined ? { id: entry.id, status } : { id: entry.id, status, reason });
      if (isLast) forget(entry);
      return entry.latest!;
    },

    failed: forget,

    news(channel, session, receipt) {
      const entry = newest.get(receipt.id) ?? older.get(receipt.id);
      if (entry?.channel === channel && entry.session === session && keep(entry, receipt)) {
        announce(channel, session, receipt);
      }
    },
  };
}
