// The send queue of one connection: a slow client delays no other client.
import { keyOf } from "../../../lib/util.ts";
import { frameTypeOf, pongFrame, type EncodedFrame } from "../frame-encoding.ts";
import type { SequencedEntry } from "../../conversations/index.ts";
import type { ConnectionContext } from "./context.ts";
import type { SinkSource, Sink } from "./sink.ts";

const maxSocketBytes = 256 * 1024;
const maxQueuedBytes = 4 * 1024 * 1024;
const maxQueuedFrames = 2_048;
/** With more queued frames, the connection reads no messages that would add replies. */
const maxFramesWhileReading = maxQueuedFrames / 2;

/** A queued frame for one peer. */
interface QueuedFrame {
  readonly frame: EncodedFrame;
  /** Undefined for a response to this peer alone. Such a frame is never dropped or replaced. */
  readonly entry: SequencedEntry | undefined;
  /** Encodes the whole text, if the frame has only the text that the entry adds. */
  readonly whole: EncodeFrame | undefined;
}

type EncodeFrame = (entry: SequencedEntry) => EncodedFrame;

/**
 * A later entry with the same key replaces a queued one, because it contains everything that the
 * queued one does.
 */
function coalescingKey(entry: SequencedEntry): string | undefined {
  const { session, numbered, message } = entry;
  if (numbered) return undefined;
  if (message !== undefined) return keyOf("message", session, message);
  return isTypingEntry(entry) ? keyOf("typing", session) : undefined;
}
/** Errors and ends of answers have no message id either, but each one has its own content. */
const isTypingEntry = (entry: SequencedEntry): boolean =>
  !entry.numbered && entry.message === undefined && frameTypeOf(entry).startsWith("typing.");
const isTypingFrame = ({ entry }: QueuedFrame): boolean =>
  entry !== undefined && isTypingEntry(entry);
/** True for updates that the final entry `last` makes redundant. */
const isSupersededBy =
  (last: SequencedEntry) =>
  ({ entry }: QueuedFrame): boolean =>
    entry !== undefined &&
    !entry.numbered &&
    entry.message === last.message &&
    entry.session === last.session;

/** The client misses the text of the frames that this one replaces. */
const withWholeText = (queued: QueuedFrame): QueuedFrame =>
  queued.entry && queued.whole
    ? { ...queued, frame: queued.whole(queued.entry), whole: undefined }
    : queued;

export interface OutboxOwner {
  /** A numbered entry was written to the socket. */
  written(entry: SequencedEntry): void;
  /** The queue exceeded its limit. Called at most once. */
  queueFull(): void;
  /** The queue has become shorter. */
  queueDrained(): void;
  /** Bytes wait in the socket, so the connection needs a check every second. */
  scheduleCheck(): void;
}

/**
 * Keeps at most 256 KiB in the socket and queues the rest, because queued frames can still be
 * dropped or replaced.
 */
export class Outbox implements SinkSource {
  private readonly context: Pick<ConnectionContext, "counters" | "registry">;
  private readonly owner: OutboxOwner;
  private readonly sink: Sink;
  private queue: QueuedFrame[] | undefined = undefined;
  private queuedBytes = 0;
  private writtenBytes = 0;
  private open = true;
  private isFlushing = false;
  /**
   * While bytes wait: when progress was last made, and how many bytes had left the process and were
   * in the queue of the operating system at the last check.
   */
  private isPending = false;
  private progressAt = 0;
  private leftAtCheck = 0;
  private kernelQueueAtCheck = 0;
  /** Pong for the latest ping of a client that reads too slowly to receive it now. */
  private pong: EncodedFrame | undefined = undefined;

  constructor(
    context: Pick<ConnectionContext, "counters" | "registry">,
    owner: OutboxOwner,
    sink: Sink,
  ) {
    this.context = context;
    this.owner = owner;
    this.sink = sink;
    sink.source = this;
  }

  /**
   * @param whole - For a frame with only the text that the entry adds: encodes the whole text,
   *   which is sent instead if the frame replaces a queued one.
   */
  send(frame: EncodedFrame, entry?: SequencedEntry, whole?: EncodeFrame): void {
    if (!this.open) return;
    if (this.hasRoom() || this.makeRoom()) return this.write(frame, entry, whole);
    this.enqueue({ frame, entry, whole });
    if (this.isOverLimit()) this.context.counters.dropped.typing += this.drop(isTypingFrame);
    if (!this.isOverLimit()) return;
    this.clear();
    this.owner.queueFull();
  }

  /** Writes a control frame ahead of all queued frames. */
  sendControl(frame: EncodedFrame): void {
    if (this.open) this.write(frame);
  }

  /**
   * Responds to a ping. A client that does not read receives one pong for all its pings (RFC 6455,
   * 5.5.3).
   */
  sendPong(payload: Buffer): void {
    const frame = pongFrame(payload);
    if (this.sink.pending() < maxSocketBytes) this.sendControl(frame);
    else this.pong = frame;
  }

  /** Queued bytes, including those in the socket. */
  waiting(): number {
    return this.queuedBytes + this.sink.pending();
  }

  isStalling(): boolean {
    return this.isPending;
  }

  /** True while half of the queue is used: the replies to further messages may not fit. */
  isCongested(): boolean {
    return this.queue !== undefined && this.queue.length >= maxFramesWhileReading;
  }

  /** @returns Milliseconds since the socket last accepted bytes; 0 if no bytes wait. */
  stalledFor(now: number): number {
    if (!this.isPending) return 0;
    const pending = this.sink.pending();
    const left = this.writtenBytes - pending;
    const kernelQueue = this.sink.kernelQueueBytes();
    if (left !== this.leftAtCheck || kernelQueue < this.kernelQueueAtCheck) this.progressAt = now;
    this.leftAtCheck = left;
    this.kernelQueueAtCheck = kernelQueue;
    this.isPending = pending > 0;
    return pending === 0 ? 0 : now - this.progressAt;
  }

  clear(): void {
    this.open = false;
    this.context.counters.dropped.closed += this.queue?.length ?? 0;
    this.queue = undefined;
    this.queuedBytes = 0;
  }

  onPending(): void {
    if (this.isPending) return;
    this.isPending = true;
    this.progressAt = this.context.registry.checkClock.now();
    this.leftAtCheck = this.writtenBytes - this.sink.pending();
    this.kernelQueueAtCheck = this.sink.kernelQueueBytes();
    this.owner.scheduleCheck();
  }

  onDrained(): void {
    const { queue, sink, pong } = this;
    if (pong !== undefined) {
      this.pong = undefined;
      this.sendControl(pong);
    }
    if (queue === undefined || queue.length === 0) return;
    let at = 0;
    while (this.open && at < queue.length && sink.pending() < maxSocketBytes) {
      const { frame, entry, whole } = queue[at++]!;
      this.queuedBytes -= frame.length;
      this.write(frame, entry, whole);
    }
    queue.splice(0, at);
    // Not while a frame is being sent: the replies to messages that are read now would overtake it.
    if (!this.isFlushing) this.owner.queueDrained();
  }

  private hasRoom(): boolean {
    const isFree = this.queue === undefined || this.queue.length === 0;
    return isFree && this.sink.pending() < maxSocketBytes;
  }

  /** Offers the frames of this turn to the socket: until then, they do not show a slow client. */
  private makeRoom(): boolean {
    this.isFlushing = true;
    this.sink.flush();
    this.isFlushing = false;
    return this.hasRoom();
  }

  private write(frame: EncodedFrame, entry?: SequencedEntry, whole?: EncodeFrame): void {
    if (!this.sink.isOpen()) return;
    this.writtenBytes += frame.length;
    this.sink.write(frame);
    if (!entry) return;
    this.context.counters.framesOut[whole ? "message.append" : frameTypeOf(entry)] += 1;
    if (entry.numbered) this.owner.written(entry);
  }

  private isOverLimit(): boolean {
    return (this.queue?.length ?? 0) > maxQueuedFrames || this.queuedBytes > maxQueuedBytes;
  }

  /** @returns The number of dropped frames. */
  private drop(isDropped: (queuedFrame: QueuedFrame) => boolean): number {
    const before = this.queue ?? [];
    this.queue = before.filter((queuedFrame) => {
      const stays = !isDropped(queuedFrame);
      if (!stays) this.queuedBytes -= queuedFrame.frame.length;
      return stays;
    });
    return before.length - this.queue.length;
  }

  private enqueue(queuedFrame: QueuedFrame): void {
    const { counters } = this.context;
    const { entry } = queuedFrame;
    let dropped = 0;
    if (entry?.numbered && entry.message !== undefined)
      counters.coalesced += dropped = this.drop(isSupersededBy(entry));
    const queue = (this.queue ??= []);
    const key = entry && coalescingKey(entry);
    const before =
      key === undefined
        ? -1
        : queue.findIndex((other) => other.entry && coalescingKey(other.entry) === key);
    const next = dropped > 0 || before !== -1 ? withWholeText(queuedFrame) : queuedFrame;
    this.queuedBytes += next.frame.length - (queue[before]?.frame.length ?? 0);
    if (before === -1) return void queue.push(next);
    queue[before] = next;
    counters.coalesced += 1;
  }
}
