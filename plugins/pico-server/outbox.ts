import type { WebSocket } from "ws";

const mostInSocket = 256 * 1024;
const mostQueuedBytes = 4 * 1024 * 1024;
const mostQueuedFrames = 2_048;

export interface OutboxOptions {
  readonly ws: WebSocket;
  readonly now: () => number;
  /** Said once: the peer reads too slowly, and more waits for it than may. */
  readonly full: () => void;
}

/** Owns the queue of one connection, so that a stuck peer delays nobody else. */
export interface Outbox {
  send(frame: Uint8Array): void;
  /** Milliseconds without progress of what waits; 0 when nothing waits. */
  stalledFor(now: number): number;
  /** Bytes that wait, those in the socket included. */
  waiting(): number;
  clear(): void;
}

/** Keeps at most 256 KiB in the socket and queues the rest: what is queued can still be dropped or replaced. */
export function createOutbox({ ws, now, full }: OutboxOptions): Outbox {
  let queue: Uint8Array[] = [];
  let queuedBytes = 0;
  let inSocket = 0;
  let progressAt = 0;
  let open = true;

  function write(frame: Uint8Array): void {
    if (inSocket === 0) progressAt = now();
    inSocket += frame.byteLength;
    ws.send(frame, { binary: false }, (error) => {
      inSocket -= frame.byteLength;
      progressAt = now();
      if (!error) drain();
    });
  }

  function drain(): void {
    if (!open || inSocket >= mostInSocket) return;
    const frame = queue.shift();
    if (!frame) return;
    queuedBytes -= frame.byteLength;
    write(frame);
    drain();
  }

  const outbox: Outbox = {
    send(frame) {
      if (!open) return;
      if (queue.length === 0 && inSocket < mostInSocket) return write(frame);
      queue.push(frame);
      queuedBytes += frame.byteLength;
      if (queue.length <= mostQueuedFrames && queuedBytes <= mostQueuedBytes) return;
      outbox.clear();
      full();
    },
    waiting: () => queuedBytes + inSocket,
    stalledFor: (time) => (inSocket === 0 ? 0 : time - progressAt),
    clear() {
      open = false;
      queue = [];
      queuedBytes = 0;
    },
  };
  return outbox;
}
