import type { Counters } from "./counters.ts";
import { typeOf } from "./faces.ts";
import type { Heard } from "./session-log.ts";
import type { Sink } from "./sink.ts";

const mostInSocket = 256 * 1024;
const mostQueuedBytes = 4 * 1024 * 1024;
const mostQueuedFrames = 2_048;

/** A frame on its way to one peer. */
interface Item {
  readonly bytes: Uint8Array;
  /** Undefined: an answer to this peer alone, which always waits its turn. */
  readonly entry: Heard | undefined;
}

/** While it waits, a later entry of the same key takes its place: it says all that this one says. */
function keyOf({ session, numbered, message }: Heard): string | undefined {
  if (numbered) return undefined;
  return message === undefined ? `typing\0${session}` : `message\0${session}\0${message}`;
}
const isTyping = ({ entry }: Item): boolean => entry !== undefined && !entry.numbered && entry.message === undefined;
/** Says nothing any more once `last` is there. */
const isOutdatedBy = (last: Heard) => ({ entry }: Item): boolean =>
  entry !== undefined && !entry.numbered && entry.message === last.message && entry.session === last.session;

export interface OutboxOptions {
  readonly sink: Sink;
  readonly counters: Counters;
  readonly now: () => number;
  /** A numbered entry was given to the socket. */
  readonly written: (entry: Heard) => void;
  /** Said once: the peer reads too slowly, and more waits for it than may. */
  readonly full: () => void;
}

/** Owns the queue of one connection, so that a stuck peer delays nobody else. */
export interface Outbox {
  send(bytes: Uint8Array, entry?: Heard): void;
  /** Milliseconds without progress of what waits; 0 when nothing waits. Asked at every tick. `lateMs`: this process
   *  slept meanwhile. */
  stalledFor(now: number, lateMs: number): number;
  /** Bytes that wait, those in the socket included. */
  waiting(): number;
  clear(): void;
}

/** Keeps at most 256 KiB in the socket and queues the rest: what is queued can still be dropped or replaced. */
export function createOutbox({ sink, counters, now, written, full }: OutboxOptions): Outbox {
  let queue: Item[] = [];
  let queuedBytes = 0;
  let givenBytes = 0;
  let open = true;
  let progressAt = 0;
  let seen = { left: 0, waiting: 0 };

  function write(bytes: Uint8Array, entry: Heard | undefined): void {
    if (!sink.isOpen()) return;
    if (sink.pending() === 0) progressAt = now();
    givenBytes += bytes.byteLength;
    sink.write(bytes);
    if (!entry) return;
    counters.framesOut[typeOf(entry)] += 1;
    if (entry.numbered) written(entry);
  }

  function pump(): void {
    if (queue.length === 0) return;
    let at = 0;
    while (open && at < queue.length && sink.pending() < mostInSocket) {
      const { bytes, entry } = queue[at++]!;
      queuedBytes -= bytes.byteLength;
      write(bytes, entry);
    }
    queue.splice(0, at);
  }
  sink.onDrain(pump);

  /** Answers how many have gone. */
  function drop(isDropped: (item: Item) => boolean): number {
    const before = queue.length;
    queue = queue.filter((item) => {
      const stays = !isDropped(item);
      if (!stays) queuedBytes -= item.bytes.byteLength;
      return stays;
    });
    return before - queue.length;
  }

  function enqueue(item: Item): void {
    const { entry, bytes } = item;
    if (entry?.numbered && entry.message !== undefined) counters.coalesced += drop(isOutdatedBy(entry));
    const key = entry && keyOf(entry);
    const before = key === undefined ? -1 : queue.findIndex((other) => other.entry && keyOf(other.entry) === key);
    queuedBytes += bytes.byteLength - (queue[before]?.bytes.byteLength ?? 0);
    if (before === -1) return void queue.push(item);
    queue[before] = item;
    counters.coalesced += 1;
  }

  const isOver = (): boolean => queue.length > mostQueuedFrames || queuedBytes > mostQueuedBytes;

  const outbox: Outbox = {
    send(bytes, entry) {
      if (!open) return;
      if (queue.length === 0 && sink.pending() < mostInSocket) return write(bytes, entry);
      enqueue({ bytes, entry });
      if (isOver()) counters.dropped.typing += drop(isTyping);
      if (!isOver()) return;
      outbox.clear();
      full();
    },
    waiting: () => queuedBytes + sink.pending(),
    stalledFor(time, lateMs) {
      const pending = sink.pending();
      const current = { left: givenBytes - pending, waiting: sink.waiting() };
      progressAt = Math.min(progressAt + lateMs, time); // the clock may have been set back, too
      if (pending === 0 || current.left !== seen.left || current.waiting < seen.waiting) progressAt = time;
      seen = current;
      return pending === 0 ? 0 : time - progressAt;
    },
    clear() {
      open = false;
      counters.dropped.closed += queue.length;
      queue = [];
      queuedBytes = 0;
    },
  };
  return outbox;
}
