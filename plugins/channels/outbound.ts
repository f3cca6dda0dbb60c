import { codeOf, type Awaitable } from "../../kernel/index.ts";
import { channelsErrors } from "./errors.ts";
import { maxHops } from "./inbound.ts";
import type { AdapterReceipt, Address, ChannelAdapter, Channels, Receipt } from "./service.ts";

export interface OutboundOptions {
  readonly port: (channel: string) => ChannelAdapter | undefined;
  readonly running: () => boolean;
  readonly receipts: ReceiptTracker;
  readonly newId: () => string;
}

/** From the application to the channel a session belongs to. */
export function createOutbound(
  options: OutboundOptions,
): Pick<Channels, "send" | "update" | "remove" | "typing"> {
  const { port, running, receipts, newId } = options;

  function portFor({ channel }: Address): ChannelAdapter {
    if (!running()) throw channelsErrors.not_running();
    const found = port(channel);
    if (found === undefined) throw channelsErrors.undeliverable(channel);
    return found;
  }

  /** Errors without a code are the channel's own; the application learns that the message did not go out. */
  function failed(tracked: TrackedMessage, error: unknown): Promise<never> {
    receipts.failed(tracked);
    const isOwn = codeOf(error) === "internal";
    return Promise.reject(
      isOwn ? channelsErrors.undeliverable(tracked.channel, { cause: error }) : (error as Error),
    );
  }

  /** Rejects and never throws. A channel that answers at once costs one promise. */
  function ask(
    to: Address,
    id: string,
    call: (port: ChannelAdapter) => Awaitable<AdapterReceipt>,
  ): Promise<Receipt> {
    let tracked: TrackedMessage | undefined;
    try {
      const channel = portFor(to);
      const own = (tracked = receipts.track(to.channel, to.session, id));
      const answer = call(channel);
      if (!("then" in answer)) return Promise.resolve(receipts.answered(own, answer));
      receipts.waits(own);
      return answer
        .then((receipt) => receipts.answered(own, receipt))
        .catch((error: unknown) => failed(own, error));
    } catch (error) {
      return tracked ? failed(tracked, error) : Promise.reject(error as Error);
    }
  }

  return {
    send(to, message) {
      const id = newId();
      return ask(to, id, (channel) => {
        if ((message.hops ?? 0) > maxHops) throw channelsErrors.loop();
        return channel.send(to.session, id, message);
      });
    },
    update: (to, id, message) =>
      ask(to, id, (channel) => {
        if (!channel.update) throw channelsErrors.unsupported(to.channel, "change");
        return channel.update(to.session, id, message);
      }),
    remove: (to, id) =>
      ask(to, id, (channel) => {
        if (!channel.remove) throw channelsErrors.unsupported(to.channel, "remove");
        return channel.remove(to.session, id);
      }),
    typing(to, on) {
      if (running()) port(to.channel)?.typing?.(to.session, on);
    },
  };
}

const idBytes = 16;
/** Few, since a name that lives on keeps the text it was cut from. */
const idsPerBatch = 16;
/** Random bytes are drawn ahead: asking the system costs far more than the bytes do. */
const randomBlockBytes = 4_096;

/** Names of messages: 16 random bytes each, as hexadecimal digits, written out some at a time. */
export function createIdGenerator(random: (bytes: number) => Uint8Array): () => string {
  let drawn = Buffer.alloc(0);
  let used = 0;
  let ahead = "";
  let at = 0;

  function writeOut(): void {
    if (used === drawn.length) {
      drawn = Buffer.from(random(randomBlockBytes));
      used = 0;
    }
    ahead = drawn.toString("hex", used, (used += idBytes * idsPerBatch));
    at = 0;
  }

  return () => {
    if (at === ahead.length) writeOut();
    return ahead.slice(at, (at += 2 * idBytes));
  };
}

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
  update(channel: string, session: string, receipt: Receipt): void;
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

    update(channel, session, receipt) {
      const entry = find(receipt.id);
      if (entry?.channel !== channel || entry.session !== session) return;
      if (!keep(entry, receipt.status, receipt.reason)) return;
      if (isSettled(entry)) forget(entry);
      announce(channel, session, receipt);
    },
  };
}
