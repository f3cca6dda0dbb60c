import { frameTypeOf, pongFrame, type EncodedFrame } from "../frame-encoding.ts";
import type { SequencedEntry } from "../session/session-log.ts";
import type { ConnectionContext } from "./context.ts";
import type { SinkSource, Sink } from "./sink.ts";

const maxSocketBytes = 256 * 1024;
const maxQueuedBytes = 4 * 1024 * 1024;
const maxQueuedFrames = 2_048;

/** A frame on its way to one peer. */
interface QueuedFrame {
  readonly frame: EncodedFrame;
  /** Undefined: an answer to this peer alone, which always waits its turn. */
  readonly entry: SequencedEntry | undefined;
}

/** While it waits, a later entry of the same key takes its place: it says all that this one says. */
function coalescingKey(entry: SequencedEntry): string | undefined {
  const { session, numbered, message } = entry;
  if (numbered) return undefined;
  if (message !== undefined) return `message\0${session}\0${message}`;
  return isTypingEntry(entry) ? `typing\0${session}` : undefined;
}
/** Errors are about no message of the stream either; each of them says something else. */
const isTypingEntry = (entry: SequencedEntry): boolean =>
  !entry.numbered && entry.message === undefined && frameTypeOf(entry) !== "error";
const isTypingFrame = ({ entry }: QueuedFrame): boolean =>
  entry !== undefined && isTypingEntry(entry);
/** Says nothing any more once `last` is there. */
const isSupersededBy =
  (last: SequencedEntry) =>
  ({ entry }: QueuedFrame): boolean =>
    entry !== undefined &&
    !entry.numbered &&
    entry.message === last.message &&
    entry.session === last.session;

export interface OutboxOwner {
  /** A numbered entry was given to the socket. */
  written(entry: SequencedEntry): void;
  /** Said once: the peer reads too slowly, and more waits for it than may. */
  full(): void;
  /** Something waits: from now on it is asked every second for how long. */
  watch(): void;
}

/** Owns the queue of one connection, so that a stuck peer delays nobody else. Keeps at most 256 KiB in the socket and
 *  queues the rest: what is queued can still be dropped or replaced. */
export class Outbox implements SinkSource {
  private readonly shared: Pick<ConnectionContext, "counters" | "awake">;
  private readonly owner: OutboxOwner;
  private readonly sink: Sink;
  private queue: QueuedFrame[] | undefined = undefined;
  private queuedBytes = 0;
  private givenBytes = 0;
  private open = true;
  /** While something waits: since when nothing has moved, and what had left and what waited when it was last asked. */
  private isWatched = false;
  private progressAt = 0;
  private left = 0;
  private inMachine = 0;
  /** Answer to the latest ping, while the peer reads too slowly to get it. */
  private pong: EncodedFrame | undefined = undefined;

  constructor(
    shared: Pick<ConnectionContext, "counters" | "awake">,
    owner: OutboxOwner,
    sink: Sink,
  ) {
    this.shared = shared;
    this.owner = owner;
    this.sink = sink;
    sink.filler = this;
  }

  send(frame: EncodedFrame, entry?: SequencedEntry): void {
    if (!this.open) return;
    const isFree = this.queue === undefined || this.queue.length === 0;
    if (isFree && this.sink.pending() < maxSocketBytes) return this.write(frame, entry);
    this.enqueue({ frame, entry });
    if (this.isOver()) this.shared.counters.dropped.typing += this.drop(isTypingFrame);
    if (!this.isOver()) return;
    this.clear();
    this.owner.full();
  }

  /** A control frame waits for nothing that is queued. */
  control(frame: EncodedFrame): void {
    if (this.open) this.write(frame, undefined);
  }

  /** Answers a ping. A peer that does not read gets one answer to all its pings (RFC 6455, 5.5.3). */
  answerPing(payload: Buffer): void {
    const frame = pongFrame(payload);
    if (this.sink.pending() < maxSocketBytes) this.control(frame);
    else this.pong = frame;
  }

  /** Bytes that wait, those in the socket included. */
  waiting(): number {
    return this.queuedBytes + this.sink.pending();
  }

  isStalling(): boolean {
    return this.isWatched;
  }

  /** Milliseconds without progress of what waits; 0 when nothing waits. */
  stalledFor(now: number): number {
    if (!this.isWatched) return 0;
    const pending = this.sink.pending();
    const left = this.givenBytes - pending;
    const inMachine = this.sink.waiting();
    if (left !== this.left || inMachine < this.inMachine) this.progressAt = now;
    this.left = left;
    this.inMachine = inMachine;
    this.isWatched = pending > 0;
    return pending === 0 ? 0 : now - this.progressAt;
  }

  clear(): void {
    this.open = false;
    this.shared.counters.dropped.closed += this.queue?.length ?? 0;
    this.queue = undefined;
    this.queuedBytes = 0;
  }

  behind(): void {
    if (this.isWatched) return;
    this.isWatched = true;
    this.progressAt = this.shared.awake.now();
    this.left = this.givenBytes - this.sink.pending();
    this.inMachine = this.sink.waiting();
    this.owner.watch();
  }

  drained(): void {
    const { queue, sink, pong } = this;
    if (pong !== undefined) {
      this.pong = undefined;
      this.control(pong);
    }
    if (queue === undefined || queue.length === 0) return;
    let at = 0;
    while (this.open && at < queue.length && sink.pending() < maxSocketBytes) {
      const { frame, entry } = queue[at++]!;
      this.queuedBytes -= frame.length;
      this.write(frame, entry);
    }
    queue.splice(0, at);
  }

  private write(frame: EncodedFrame, entry: SequencedEntry | undefined): void {
    if (!this.sink.isOpen()) return;
    this.givenBytes += frame.length;
    this.sink.write(frame);
    if (!entry) return;
    this.shared.counters.framesOut[frameTypeOf(entry)] += 1;
    if (entry.numbered) this.owner.written(entry);
  }

  private isOver(): boolean {
    return (this.queue?.length ?? 0) > maxQueuedFrames || this.queuedBytes > maxQueuedBytes;
  }

  /** Answers how many have gone. */
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
    const { counters } = this.shared;
    const { entry, frame } = queuedFrame;
    if (entry?.numbered && entry.message !== undefined)
      counters.coalesced += this.drop(isSupersededBy(entry));
    const queue = (this.queue ??= []);
    const key = entry && coalescingKey(entry);
    const before =
      key === undefined
        ? -1
        : queue.findIndex((other) => other.entry && coalescingKey(other.entry) === key);
    this.queuedBytes += frame.length - (queue[before]?.frame.length ?? 0);
    if (before === -1) return void queue.push(queuedFrame);
    queue[before] = queuedFrame;
    counters.coalesced += 1;
  }
}
