import type { AdapterReceipt, Receipt } from "./service.ts";

const maxTracked = 10_000;
const statusRank = { buffered: 1, written: 2, delivered: 3, undelivered: 3 } as const;

/** A message of which news may come. */
export interface TrackedMessage {
  readonly channel: string;
  readonly session: string;
  readonly id: string;
  /** Undefined: the channel has not answered yet. */
  status: Receipt["status"] | undefined;
  reason: string | undefined;
}

/** Statuses of what was sent: they only grow, and each growth is announced. */
export interface ReceiptTracker {
  /** Before the channel is asked to send, so that news which overtakes its answer is not lost. `answered`, `waits` or
   *  `failed` follows as soon as the channel returns. */
  track(channel: string, session: string, id: string): TrackedMessage;
  /** The channel answers later. */
  waits(tracked: TrackedMessage): void;
  /** What the channel answered, or the news that overtook it. */
  answered(tracked: TrackedMessage, receipt: AdapterReceipt): Receipt;
  failed(tracked: TrackedMessage): void;
  news(channel: string, session: string, receipt: Receipt): void;
}

export function createReceiptTracker(
  announce: (channel: string, session: string, receipt: Receipt) => void,
): ReceiptTracker {
  /* The newest, and those before them, which leave all at once: a map that loses its first key with each new one finds
   * the next one slowly. */
  let newest = new Map<string, TrackedMessage>();
  let older = new Map<string, TrackedMessage>();
  /** Those the channel is being asked to send: most are answered at once, and no news of them will come. */
  const asked: TrackedMessage[] = [];

  function list(entry: TrackedMessage): void {
    if (newest.size === maxTracked) {
      older = newest;
      newest = new Map();
    }
    newest.set(entry.id, entry);
  }

  function forget(entry: TrackedMessage): void {
    const { id } = entry;
    if ((newest.get(id) ?? older.get(id)) !== entry) return;
    newest.delete(id);
    older.delete(id);
  }

  /** The channel has just returned from being asked. */
  function returned(entry: TrackedMessage): boolean {
    if (asked.at(-1) !== entry) return false;
    asked.pop();
    return true;
  }

  /** `false`: the status does not grow. */
  function keep(
    entry: TrackedMessage,
    status: Receipt["status"],
    reason: string | undefined,
  ): boolean {
    if (entry.status && statusRank[status] <= statusRank[entry.status]) return false;
    entry.status = status;
    entry.reason = reason;
    return true;
  }

  const isSettled = ({ status }: TrackedMessage): boolean =>
    status !== undefined && statusRank[status] === statusRank.delivered;
  const find = (id: string): TrackedMessage | undefined =>
    asked.findLast((entry) => entry.id === id) ?? newest.get(id) ?? older.get(id);

  return {
    track(channel, session, id) {
      const entry: TrackedMessage = { channel, session, id, status: undefined, reason: undefined };
      asked.push(entry);
      return entry;
    },

    waits(entry) {
      if (returned(entry) && !isSettled(entry)) list(entry);
    },

    answered(entry, { status, reason, isLast = false }) {
      keep(entry, status, reason);
      const isOver = isLast || isSettled(entry);
      if (returned(entry)) {
        if (!isOver) list(entry);
      } else if (isOver) {
        forget(entry);
      }
      const { id, status: latest = status } = entry;
      return entry.reason === undefined
        ? { id, status: latest }
        : { id, status: latest, reason: entry.reason };
    },

    failed(entry) {
      if (!returned(entry)) forget(entry);
    },

    news(channel, session, receipt) {
      const entry = find(receipt.id);
      if (entry?.channel !== channel || entry.session !== session) return;
      if (!keep(entry, receipt.status, receipt.reason)) return;
      if (isSettled(entry)) forget(entry);
      announce(channel, session, receipt);
    },
  };
}
