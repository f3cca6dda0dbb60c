import type { Sink } from "./sink.ts";

const mostInSocket = 256 * 1024;
const mostQueuedBytes = 4 * 1024 * 1024;
const mostQueuedFrames = 2_048;

/** A frame on its way to one peer. */
export interface Item {
  readonly bytes: Uint8Array;
  /** While it waits, a later item with the same key takes its place: it says all that this one says. */
  readonly key?: string;
  /** Items with this key say nothing any more. */
  readonly ends?: string | undefined;
  /** The first to leave when too much waits. */
  readonly isFleeting?: boolean;
  /** It was given to the socket. */
  readonly written?: () => void;
}

export interface OutboxOptions {
  readonly sink: Sink;
  readonly now: () => number;
  /** Said once: the peer reads too slowly, and more waits for it than may. */
  readonly full: () => void;
}

/** Owns the queue of one connection, so that a stuck peer delays nobody else. */
export interface Outbox {
  send(item: Item): void;
  /** Milliseconds without progress of what waits; 0 when nothing waits. Asked at every tick. */
  stalledFor(now: number): number;
  /** Bytes that wait, those in the socket included. */
  waiting(): number;
  clear(): void;
}

/** Keeps at most 256 KiB in the socket and queues the rest: what is queued can still be dropped or replaced. */
export function createOutbox({ sink, now, full }: OutboxOptions): Outbox {
  let queue: Item[] = [];
  let queuedBytes = 0;
  let givenBytes = 0;
  let open = true;
  let progressAt = 0;
  let seen = { left: 0, waiting: 0 };

  function write({ bytes, written }: Item): void {
    if (!sink.isOpen()) return;
    if (sink.pending() === 0) progressAt = now();
    givenBytes += bytes.byteLength;
    sink.write(bytes);
    written?.();
  }

  function pump(): void {
    let at = 0;
    while (open && at < queue.length && sink.pending() < mostInSocket) {
      const item = queue[at++]!;
      queuedBytes -= item.bytes.byteLength;
      write(item);
    }
    queue.splice(0, at);
  }
  sink.onDrain(pump);

  function drop(isDropped: (item: Item) => boolean): void {
    queue = queue.filter((item) => {
      const stays = !isDropped(item);
      if (!stays) queuedBytes -= item.bytes.byteLength;
      return stays;
    });
  }

  function enqueue(item: Item): void {
    const { key, ends } = item;
    if (ends !== undefined) drop((other) => other.key === ends);
    const before = key === undefined ? -1 : queue.findIndex((other) => other.key === key);
    queuedBytes += item.bytes.byteLength - (queue[before]?.bytes.byteLength ?? 0);
    if (before === -1) queue.push(item);
    else queue[before] = item;
  }

  const isOver = (): boolean => queue.length > mostQueuedFrames || queuedBytes > mostQueuedBytes;

  const outbox: Outbox = {
    send(item) {
      if (!open) return;
      if (queue.length === 0 && sink.pending() < mostInSocket) return write(item);
      enqueue(item);
      if (isOver()) drop(({ isFleeting }) => isFleeting ?? false);
      if (!isOver()) return;
      outbox.clear();
      full();
    },
    waiting: () => queuedBytes + sink.pending(),
    stalledFor(time) {
      const pending = sink.pending();
      const current = { left: givenBytes - pending, waiting: sink.waiting() };
      if (pending === 0 || current.left !== seen.left || current.waiting < seen.waiting) progressAt = time;
      seen = current;
      return pending === 0 ? 0 : time - progressAt;
    },
    clear() {
      open = false;
      queue = [];
      queuedBytes = 0;
    },
  };
  return outbox;
}
