import type { Socket } from "node:net";

/** What happens to the bytes of one direction. Order and content never change. */
export type Fault =
  | "none"
  /** Nothing is read: once the buffers between are full, the sender is told that there is no room. */
  | "stall"
  /** Read and thrown away, ends and resets too: the other side has vanished without a word. */
  | "swallow"
  /** Every byte arrives so much later. */
  | { readonly delayMs: number }
  /** So many bytes at a time, with so much time between. */
  | { readonly bytes: number; readonly everyMs: number };

/** Waits in a line at most; beyond it, its sender has to wait. */
const maxBufferedBytes = 1024 * 1024;

interface Piece {
  /** Undefined: the sender has ended. */
  readonly bytes: Buffer | undefined;
  readonly cameAt: number;
}

/** One direction of one connection: the bytes of `from` reach `to` as its fault lets them. */
export interface FaultLine {
  set(fault: Fault): void;
  /** Nobody is told that `from` is gone. */
  isSilent(): boolean;
  stop(): void;
}

export function createFaultLine(from: Socket, to: Socket, first: Fault): FaultLine {
  let fault = first;
  let pieces: Piece[] = [];
  let held = 0;
  let timer: NodeJS.Timeout | undefined;
  let isFull = false;

  const delayMs = (): number =>
    typeof fault === "object" && "delayMs" in fault ? fault.delayMs : 0;
  const drip = () => (typeof fault === "object" && "bytes" in fault ? fault : undefined);

  function pass({ bytes, cameAt }: Piece, most: number): void {
    if (!bytes) return void to.end();
    const now = bytes.subarray(0, most);
    held -= now.byteLength;
    if (now.byteLength < bytes.byteLength) pieces.unshift({ bytes: bytes.subarray(most), cameAt });
    isFull = !to.write(now);
  }

  function passOn(): void {
    while (!isFull && fault !== "stall" && pieces.length > 0) {
      const wait = pieces[0]!.cameAt + delayMs() - performance.now();
      if (wait > 0) return later(wait);
      const slow = drip();
      pass(pieces.shift()!, slow?.bytes ?? Infinity);
      if (slow) return later(slow.everyMs);
    }
  }

  function pump(): void {
    clearTimeout(timer);
    timer = undefined;
    passOn();
    if (fault === "stall" || held >= maxBufferedBytes) from.pause();
    else from.resume();
  }
  const later = (ms: number): void => void (timer = setTimeout(pump, ms));

  function take(bytes: Buffer | undefined): void {
    if (fault === "swallow") return;
    pieces.push({ bytes, cameAt: performance.now() });
    held += bytes?.byteLength ?? 0;
    if (held >= maxBufferedBytes) from.pause();
    if (!timer) pump();
  }

  from.on("data", take).on("end", () => take(undefined));
  to.on("drain", () => {
    isFull = false;
    if (!timer) pump();
  });
  if (fault === "stall") from.pause();

  return {
    isSilent: () => fault === "swallow",
    set(next) {
      fault = next;
      if (fault === "swallow") {
        pieces = [];
        held = 0;
      }
      pump();
    },
    stop() {
      clearTimeout(timer);
      pieces = [];
    },
  };
}
