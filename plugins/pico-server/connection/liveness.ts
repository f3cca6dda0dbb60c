import type { Socket } from "node:net";
import type { WheelClock } from "./timer-wheel.ts";

/** Bytes per millisecond that a message of some size has to come with, beside the time everybody has. */
const minBytesPerMs = 32;
/** What everybody gets, after this process slept, to be asked and to answer. */
const resumeGraceMs = 5_000;
/** Between two looks at a peer of which something is expected. */
export const recheckMs = 1_000;
const notStarted = -1;

/** Nobody is given up yet: what came meanwhile is not read. */
export const recentlySuspended = (wheelClock: WheelClock): boolean =>
  wheelClock.now() - wheelClock.wokeAt() < resumeGraceMs;

/** Whether it is time to do something about a peer. */
export type LivenessState = "well" | "ask" | "silent";

/** The signs of life of one socket: any byte is one, but single bytes now and then keep no message on its way for ever.
 *  Times are the wheel's. */
export class Liveness {
  heardAt: number;
  private askedAt: number;
  private readonly socket: Pick<Socket, "bytesRead">;
  /** Bytes when it was last looked, and when the last whole frame had arrived. */
  private seen: number;
  private whole: number;
  private begunAt = notStarted;

  constructor(socket: Pick<Socket, "bytesRead">, now: number) {
    this.socket = socket;
    this.heardAt = now;
    this.askedAt = now;
    this.seen = socket.bytesRead;
    this.whole = this.seen;
  }

  /** A whole frame has arrived, or nothing is read for now. */
  touch(now: number): void {
    this.heardAt = now;
    this.whole = this.seen = this.socket.bytesRead;
    this.begunAt = notStarted;
  }

  /** A control frame arrived in the middle of a message, which may not take longer because of it. */
  heard(now: number): void {
    this.heardAt = now;
    this.seen = this.socket.bytesRead;
  }

  /** Milliseconds until it has to be looked at again. */
  nextCheckIn(now: number, patienceMs: number, askEveryMs: number): number {
    const left = Math.min(this.askedAt + askEveryMs, this.heardAt + patienceMs) - now;
    return left > 0 && this.seen === this.whole ? left : recheckMs;
  }

  /** `patienceMs`: without a byte, or for a message beside what its size allows. Who was last heard before this process
   *  slept is asked once more. */
  inspect(wheelClock: WheelClock, patienceMs: number, askEveryMs: number): LivenessState {
    const now = wheelClock.now();
    const { bytesRead } = this.socket;
    if (bytesRead !== this.seen) this.heardAt = now;
    this.seen = bytesRead;
    if (now - this.heardAt >= patienceMs || this.isTooSlow(now, patienceMs))
      return this.doubt(now, wheelClock.wokeAt());
    if (now - this.askedAt < askEveryMs) return "well";
    this.askedAt = now;
    return "ask";
  }

  private doubt(now: number, wokeAt: number): LivenessState {
    if (this.heardAt > wokeAt) return "silent";
    if (this.askedAt > wokeAt) return now - this.askedAt >= resumeGraceMs ? "silent" : "well";
    this.askedAt = now;
    return "ask";
  }

  private isTooSlow(now: number, patienceMs: number): boolean {
    const bytes = this.seen - this.whole;
    if (bytes === 0) return false;
    if (this.begunAt === notStarted) this.begunAt = now;
    return now - this.begunAt > patienceMs + bytes / minBytesPerMs;
  }
}

/** Bytes of one connection, as its socket counts them. */
export interface ByteCounts {
  readonly in: number;
  readonly out: number;
}

type CountingSocket = Pick<Socket, "bytesRead" | "bytesWritten">;

/** Counts from now on: what the socket carried before was the handshake, or another request. */
export class ByteCounter {
  private readonly socket: CountingSocket | null;
  private readonly readBefore: number;
  private readonly writtenBefore: number;

  constructor(socket: CountingSocket | null) {
    this.socket = socket;
    this.readBefore = socket?.bytesRead ?? 0;
    this.writtenBefore = socket?.bytesWritten ?? 0;
  }

  carried(): ByteCounts {
    const { bytesRead = 0, bytesWritten = 0 } = this.socket ?? {};
    return { in: bytesRead - this.readBefore, out: bytesWritten - this.writtenBefore };
  }
}
