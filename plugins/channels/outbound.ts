/** Sends messages of the application to channels, and tracks their delivery receipts. */
import { codeOf, type Awaitable } from "../../kernel/index.ts";
import { BoundedMap } from "../../lib/util.ts";
import { fitDetails, planText } from "../../lib/step-details.ts";
import type { Deletions } from "./deletions.ts";
import { channelsErrors } from "./errors.ts";
import type { TrafficCounts } from "./traffic.ts";
import type {
  AdapterReceipt,
  Address,
  ChannelAdapter,
  Channels,
  Message,
  Receipt,
} from "./contract.ts";

/** Bridges a message may cross. */
export const maxHops = 4;

export type GrowingReply = Parameters<Message["reply"]>[0];

/**
 * Copies a reply without what belongs to the end of the answer, and sets `inReplyTo`, unless the
 * application has. Fields are copied one by one: a spread took half of the time of a message.
 */
export function toReply(id: string, message: GrowingReply): GrowingReply {
  const { content, kind, placeholder, toolCalls, entries, attachments, inReplyTo = id } = message;
  const { model, contextUsage, question, hops, final } = message;
  const reply: { -readonly [K in keyof GrowingReply]: GrowingReply[K] } = { content, inReplyTo };
  if (kind !== undefined) reply.kind = kind;
  if (placeholder !== undefined) reply.placeholder = placeholder;
  if (toolCalls !== undefined) reply.toolCalls = toolCalls;
  if (entries !== undefined) reply.entries = entries;
  if (attachments !== undefined) reply.attachments = attachments;
  if (model !== undefined) reply.model = model;
  if (contextUsage !== undefined) reply.contextUsage = contextUsage;
  if (question !== undefined) reply.question = question;
  if (hops !== undefined) reply.hops = hops;
  if (final !== undefined) reply.final = final;
  return reply;
}

/** Cuts details that are too large, and writes the text of a plan if it has none. */
function withSteps<M extends Parameters<Channels["send"]>[1]>(message: M): M {
  const { content, toolCalls, entries } = message;
  if (!toolCalls && !entries) return message;
  return {
    ...message,
    ...(toolCalls && { toolCalls: fitDetails(toolCalls) }),
    ...(entries && content === "" && { content: planText(entries) }),
  };
}

type Returned = Awaitable<AdapterReceipt | void>;
type Call = (adapter: ChannelAdapter) => Returned;

type Method = "send" | "update" | "remove";

interface OutboundOptions {
  readonly adapter: (channel: string) => ChannelAdapter | undefined;
  readonly running: () => boolean;
  readonly receipts: ReceiptTracker;
  readonly counts: Pick<TrafficCounts, "recorder">;
  /** Makes the id of a message to this channel. */
  readonly newId: (channel: string) => string;
  readonly deletions: Pick<Deletions, "count" | "hasMessage">;
}

const statuses: readonly unknown[] = ["written", "buffered", "delivered", "undelivered"];

/**
 * Reads what a method of an adapter has returned: nothing means `written`.
 *
 * @throws receipt_missing for everything else that is not a receipt, as in JavaScript.
 */
function toReceipt({ channel, id }: TrackedMessage, method: Method, returned: unknown) {
  if (returned === undefined) return { id, status: "written" } as const;
  const { status } = Object(returned) as Partial<AdapterReceipt>;
  if (statuses.includes(status)) return returned as AdapterReceipt;
  const found = returned === null ? "null" : `a value of the type ${typeof returned}`;
  throw channelsErrors.receipt_missing(channel, method, found);
}

/** The receipt of a change to a message that was deleted with its conversation. */
const toDeletedReceipt = (id: string): Promise<Receipt> =>
  Promise.resolve({ id, status: "undelivered", reason: "deleted" });

type Sending = Pick<Channels, "send" | "update" | "remove" | "typing">;

interface Outbound extends Sending {
  /** Sends a message under an id of `newId`. */
  readonly sendAs: (
    to: Address,
    id: string,
    message: Parameters<Channels["send"]>[1],
  ) => Promise<Receipt>;
  readonly newId: (channel: string) => string;
}

export function createOutbound(options: OutboundOptions): Outbound {
  const { adapter, running, receipts, counts, newId, deletions } = options;

  function adapterFor({ channel }: Address): ChannelAdapter {
    if (!running()) throw channelsErrors.not_running();
    const found = adapter(channel);
    if (found === undefined) throw channelsErrors.undeliverable(channel);
    return found;
  }

  /** An error without a code is internal to the channel, so it is wrapped in `undeliverable`. */
  const toSendError = (channel: string, error: unknown): unknown =>
    codeOf(error) === "internal" ? channelsErrors.undeliverable(channel, { cause: error }) : error;

  /** Changes a sent message, unless it was deleted with its conversation. */
  function change(method: Method, to: Address, id: string, call: Call): Promise<Receipt> {
    const isDeleted = deletions.count > 0 && deletions.hasMessage(to, id);
    return isDeleted ? toDeletedReceipt(id) : ask(method, to, id, call);
  }

  async function ask(method: Method, to: Address, id: string, call: Call): Promise<Receipt> {
    const channel = adapterFor(to);
    const message = receipts.track(to.channel, to.session, id);
    try {
      return receipts.returned(message, toReceipt(message, method, await call(channel)));
    } catch (error) {
      receipts.failed(message);
      throw toSendError(to.channel, error);
    }
  }

  const sendAs: Outbound["sendAs"] = (to, id, message) =>
    ask("send", to, id, (channel) => {
      if ((message.hops ?? 0) > maxHops) throw channelsErrors.loop();
      const sent = withSteps(message);
      counts.recorder?.sent(to, id, sent);
      return channel.send(to.session, id, sent);
    });

  return {
    sendAs,
    newId,
    send: (to, message) => sendAs(to, newId(to.channel), message),
    update: (to, id, message) =>
      change("update", to, id, (channel) => {
        if (!channel.update) throw channelsErrors.unsupported(to.channel, "update");
        const sent = withSteps(message);
        counts.recorder?.sent(to, id, sent);
        return channel.update(to.session, id, sent);
      }),
    remove: (to, id) =>
      change("remove", to, id, (channel) => {
        if (!channel.remove) throw channelsErrors.unsupported(to.channel, "remove");
        return channel.remove(to.session, id);
      }),
    typing(to, on) {
      if (running()) adapter(to.channel)?.typing?.(to.session, on);
    },
  };
}

const idBytes = 16;
/** Bytes at the start of an id that hold the time, so that indexes of stores grow at their end. */
const timeBytes = 6;
/** Small, because an id that stays in use keeps the text of its whole batch in memory. */
const idsPerBatch = 16;
/** Random bytes are drawn in blocks: the system call costs far more than the bytes. */
const randomBlockBytes = 4_096;

interface IdGenerator {
  (): string;
  /** @returns A text that is greater than all ids so far and less than all later ones. */
  cut(): string;
}

/**
 * Creates message ids, in batches: 32 hexadecimal digits, which are the time in Unix milliseconds
 * and ten random bytes.
 */
export function createIdGenerator(
  random: (bytes: number) => Uint8Array,
  now: () => number,
): IdGenerator {
  let block = Buffer.alloc(0);
  let used = 0;
  let batch = "";
  let position = 0;
  /** Of the latest batch: the times of later ones are not lower, also if the clock was set back. */
  let latest = 0;

  function makeBatch(): void {
    if (used === block.length) {
      block = Buffer.from(random(randomBlockBytes));
      used = 0;
    }
    const end = used + idBytes * idsPerBatch;
    const time = (latest = Math.max(latest, Math.floor(now()))) % 2 ** (8 * timeBytes);
    for (let at = used; at < end; at += idBytes) block.writeUIntBE(time, at, timeBytes);
    batch = block.toString("hex", used, end);
    used = end;
    position = 0;
  }

  const next = (): string => {
    if (position === batch.length) makeBatch();
    return batch.slice(position, (position += 2 * idBytes));
  };
  return Object.assign(next, {
    cut() {
      latest = Math.max(latest + 1, Math.floor(now()));
      position = batch.length; // the rest of the batch has an earlier time
      return latest.toString(16).padStart(2 * timeBytes, "0");
    },
  });
}

const maxTracked = 20_000;
const statusRank = { buffered: 1, written: 2, delivered: 3, undelivered: 3 } as const;

/** A sent message whose status may still change. */
interface TrackedMessage {
  readonly channel: string;
  readonly session: string;
  readonly id: string;
  /** Undefined until the channel returns a receipt. */
  status: Receipt["status"] | undefined;
  reason: string | undefined;
}

const isSettled = ({ status }: TrackedMessage): boolean =>
  status !== undefined && statusRank[status] === statusRank.delivered;

/** @returns `false` if the new status does not rank above the current one. */
function setStatus(
  message: TrackedMessage,
  status: Receipt["status"],
  reason: string | undefined,
): boolean {
  if (message.status && statusRank[status] <= statusRank[message.status]) return false;
  message.status = status;
  message.reason = reason;
  return true;
}

/** Keeps the status of sent messages. A status only advances, and each advance is announced. */
export class ReceiptTracker {
  private readonly announce: (channel: string, session: string, receipt: Receipt) => void;
  /** Messages whose status may still advance. */
  private readonly sent = new BoundedMap<string, TrackedMessage>(maxTracked);
  /** Messages that a channel is writing. */
  private readonly pending = new Map<string, TrackedMessage>();

  constructor(announce: (channel: string, session: string, receipt: Receipt) => void) {
    this.announce = announce;
  }

  /**
   * Starts before the call to the channel, so that an update which arrives before the receipt is
   * not lost. `returned` or `failed` follows.
   */
  track(channel: string, session: string, id: string): TrackedMessage {
    const message: TrackedMessage = { channel, session, id, status: undefined, reason: undefined };
    this.pending.set(id, message);
    return message;
  }

  /** @returns The receipt of the channel, or the update that arrived before it. */
  returned(message: TrackedMessage, { status, reason, isLast = false }: AdapterReceipt): Receipt {
    setStatus(message, status, reason);
    const { id, status: latest = status } = message;
    if (this.stopWaiting(message)) {
      if (isLast || isSettled(message)) this.sent.delete(id);
      else this.sent.set(id, message);
    }
    return message.reason === undefined
      ? { id, status: latest }
      : { id, status: latest, reason: message.reason };
  }

  failed(message: TrackedMessage): void {
    this.stopWaiting(message);
  }

  update(channel: string, session: string, receipt: Receipt): void {
    const { id, status, reason } = receipt;
    const message = this.pending.get(id) ?? this.sent.get(id);
    if (message?.channel !== channel || message.session !== session) return;
    if (!setStatus(message, status, reason)) return;
    if (isSettled(message)) this.sent.delete(id);
    this.announce(channel, session, receipt);
  }

  private stopWaiting(message: TrackedMessage): boolean {
    return this.pending.get(message.id) === message && this.pending.delete(message.id);
  }
}
