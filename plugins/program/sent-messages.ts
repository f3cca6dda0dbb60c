// Keeps the messages that the program created and may still update, sends their updates in the
// order of their session, and counts dropped lines.
import type { Clock, Release } from "../../kernel/index.ts";
import { BoundedMap, keyOf } from "../../lib/util.ts";
import type { Address, Channels, OutboundMessage, Receipt, ToolCall } from "../channels/index.ts";
import type { AnswerFiles } from "./answer-files.ts";
import type { PendingMessage } from "./pending-messages.ts";

/** Milliseconds between two updates that replace the text. */
const updateIntervalMs = 112;
/** Messages of the program that it may still update. */
const maxMessages = 4_096;

/** Unsettled sends: reading pauses at the first number and continues at the second. */
const pauseAbove = 256;
const resumeBelow = 64;

export type SendQueue = <T>(address: Address, run: () => T | Promise<T>) => Promise<T>;

/**
 * Creates a queue that runs the sends of one session in order and those of several sessions in
 * parallel. Calls `pause` when too many sends wait for channels.
 */
export function createSendQueue(pause: (isPaused: boolean) => void): SendQueue {
  const lastSends = new Map<string, Promise<unknown>>();
  let pending = 0;

  return function enqueue<T>({ channel, session }: Address, run: () => T | Promise<T>): Promise<T> {
    const key = keyOf(channel, session);
    const sent = (lastSends.get(key) ?? Promise.resolve()).then(run);
    const settled = sent
      .catch(() => undefined)
      .then(() => {
        pending -= 1;
        if (lastSends.get(key) === settled) lastSends.delete(key);
        if (pending === resumeBelow) pause(false);
      });
    lastSends.set(key, settled);
    pending += 1;
    if (pending === pauseAbove) pause(true);
    return sent;
  };
}

/** Names that are remembered, so that later lines about them are dropped silently. */
const maxNames = 4_096;

/** Lines about stopped messages. */
export class DroppedLines {
  /** Names of messages that were never sent, because their request was stopped before. */
  private readonly names = new BoundedMap<string, true>(maxNames);
  private total = 0;

  count(): number {
    return this.total;
  }

  /** Counts a line. `name`: the message that it would have created. */
  add(name?: string): void {
    this.total += 1;
    if (name !== undefined) this.remember(name);
  }

  /** Drops later updates of this name. */
  remember(name: string): void {
    this.names.set(name, true);
  }

  has(name: string): boolean {
    return this.names.has(name);
  }

  /** The program uses the name for a new message. */
  forget(name: string): void {
    this.names.delete(name);
  }

  clear(): void {
    this.names.clear();
  }
}

/** The session of a line, and the message that it refers to. */
export interface ReplyTarget {
  readonly request: PendingMessage | undefined;
  readonly address: Address;
}

/** The `message_id` of the program, or a symbol without one. */
type MessageKey = string | symbol;

/** A message that the program created. */
export interface SentMessage {
  readonly address: Address;
  /** The message it replies to. */
  readonly request: PendingMessage | undefined;
  /** Identifier on the channel; undefined if it was not sent. */
  readonly id: Promise<string | undefined>;
  /** Fields that every update repeats. */
  readonly repeated: Pick<OutboundMessage, "kind" | "inReplyTo">;
  isFinal: boolean;
  /** True until an update replaces the placeholder. */
  isPlaceholder: boolean;
  /** Latest state; undefined if a final line has sent it. */
  open: OutboundMessage | undefined;
  /** Calls of all lines, with their latest results. */
  calls: readonly ToolCall[];
  /** Latest update that has not been sent. */
  nextUpdate: OutboundMessage | undefined;
  /** The text that the channel has; undefined if it is not known, or if the message is final. */
  shown: string | undefined;
  updatedAt: number;
  /** The text of the latest update, which the channel may not have; empty in a final message. */
  latest: string;
  cancelTimer: Release | undefined;
}

export interface SentMessagesOptions {
  readonly channels: Channels;
  /** Stores the files that the program names. */
  readonly files: AnswerFiles;
  readonly clock: Clock;
  readonly after: (ms: number, run: () => void) => Release;
  readonly enqueue: SendQueue;
  readonly dropped: DroppedLines;
  /** Reports the failure of a send that ends no answer. */
  readonly track: (sent: Promise<Receipt | undefined>) => void;
}

export class SentMessages {
  private readonly options: SentMessagesOptions;
  private readonly messages = new Map<MessageKey, SentMessage>();
  /** The messages of each answer that has not ended. */
  private readonly answers = new Map<PendingMessage, Set<MessageKey>>();

  constructor(options: SentMessagesOptions) {
    this.options = options;
  }

  get(name: string): SentMessage | undefined {
    return this.messages.get(name);
  }

  /** @param name - Without a name, only the end of the answer completes the message. */
  add(
    { address, request }: ReplyTarget,
    name: string | undefined,
    sent: Promise<Receipt>,
    state: Pick<SentMessage, "repeated" | "isFinal" | "isPlaceholder" | "open" | "calls">,
  ): void {
    if (name === undefined && (state.isFinal || !request)) return;
    const key = name ?? Symbol();
    const id = sent.then(
      (receipt) => {
        message.shown = state.open?.content;
        return receipt.id;
      },
      () => undefined,
    );
    if (request) {
      const keys = this.answers.get(request) ?? new Set();
      this.answers.set(request, keys.add(key));
    }
    const message: SentMessage = {
      ...state,
      address,
      request,
      id,
      nextUpdate: undefined,
      shown: undefined,
      updatedAt: this.options.clock.now(),
      latest: state.open?.content ?? "",
      cancelTimer: undefined,
    };
    this.messages.set(key, message);
    if (this.messages.size > maxMessages) this.evict(this.messages.keys().next().value!);
  }

  /**
   * Completes the messages of an answer with their latest state, unless a final line has sent it,
   * and removes placeholders.
   *
   * @returns The texts that were sent.
   */
  closeAll(request: PendingMessage): Promise<unknown>[] {
    const keys = [...(this.answers.get(request) ?? [])];
    return keys.flatMap((key) => this.close(key));
  }

  /** @returns False if the answer had no message. */
  forgetAnswer(request: PendingMessage): boolean {
    return this.answers.delete(request);
  }

  close(key: MessageKey): Promise<unknown>[] {
    const message = this.messages.get(key);
    if (message?.isPlaceholder) {
      if (typeof key === "string") this.options.dropped.remember(key);
      this.remove(key, message);
      return [];
    }
    if (message) message.calls = [];
    if (!message?.open) return [];
    const { open, repeated } = message;
    message.isFinal = true;
    message.open = undefined;
    const sent = this.sendUpdate(message, { ...open, final: true });
    this.options.track(sent);
    return repeated.kind === undefined ? [sent] : [];
  }

  /** Closes a message to which no further line refers. */
  evict(key: MessageKey): void {
    void this.close(key);
    this.forget(key);
  }

  /** @param isIncomplete - The messages are not complete, and stay so. */
  evictAll(isIncomplete: boolean): void {
    for (const [key, message] of this.messages) {
      if (isIncomplete) message.open = undefined;
      this.evict(key);
    }
  }

  sendUpdate(
    message: SentMessage,
    update: OutboundMessage & { readonly final?: boolean },
  ): Promise<Receipt | undefined> {
    const { channels, clock, files } = this.options;
    message.cancelTimer?.();
    message.cancelTimer = message.nextUpdate = undefined;
    message.updatedAt = clock.now();
    // A complete text would stay in memory for nothing.
    message.latest = message.isFinal ? "" : update.content;
    const { address, repeated } = message;
    return this.enqueueFor(message, async (id) => {
      const { shown } = message;
      message.shown = undefined;
      const resolved = await files.resolve(address, { ...update, ...repeated });
      const { content } = resolved;
      const isGrown = shown !== undefined && content.startsWith(shown);
      const added = isGrown ? { added: content.slice(shown.length) } : {};
      const receipt = await channels.update(address, id, { ...resolved, ...added });
      if (!message.isFinal) message.shown = content;
      return receipt;
    });
  }

  /** Sends an update when the interval has passed, unless another one takes its place. */
  schedule(message: SentMessage, update: OutboundMessage): void {
    const { channels, clock, after } = this.options;
    message.nextUpdate = update;
    const isGrown = update.content.startsWith(message.latest);
    const intervalMs = isGrown ? channels.updateMs(message.address.channel) : updateIntervalMs;
    // The upper bound applies if the clock was set back.
    const waitMs = Math.min(intervalMs, Math.max(0, message.updatedAt + intervalMs - clock.now()));
    message.cancelTimer ??= after(waitMs, () => this.sendNext(message));
  }

  /** Sends the updates of an answer that are scheduled. */
  sendScheduled(request: PendingMessage): void {
    for (const key of this.answers.get(request) ?? []) {
      const message = this.messages.get(key);
      if (message) this.sendNext(message);
    }
  }

  remove(key: MessageKey, message: SentMessage): void {
    const { channels, track } = this.options;
    this.forget(key);
    track(this.enqueueFor(message, (id) => channels.remove(message.address, id)));
  }

  private sendNext(message: SentMessage): void {
    const { nextUpdate } = message;
    if (nextUpdate) this.options.track(this.sendUpdate(message, nextUpdate));
  }

  private forget(key: MessageKey): void {
    const message = this.messages.get(key);
    message?.cancelTimer?.();
    if (message?.request) this.answers.get(message.request)?.delete(key);
    this.messages.delete(key);
  }

  /** Runs `act` after earlier sends of the session, unless the message was not sent. */
  private enqueueFor(
    { address, id }: SentMessage,
    act: (id: string) => Promise<Receipt>,
  ): Promise<Receipt | undefined> {
    return this.options.enqueue(address, async () => {
      const channelId = await id;
      return channelId === undefined ? undefined : act(channelId);
    });
  }
}
