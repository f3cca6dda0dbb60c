/**
 * Detects dead and slow peers. Any received byte resets the idle timeout; a frame must also arrive
 * within the idle timeout plus size / 32 bytes per millisecond.
 */
import type { Socket } from "node:net";
import type { WheelClock } from "./timer-wheel.ts";

/** Slowest rate, in bytes per millisecond, at which a message may arrive after the idle timeout. */
const minBytesPerMs = 32;
/** Time that every peer has to respond to a ping after the process was suspended. */
const resumeGraceMs = 5_000;
/** Interval between checks of a peer that must act: respond, read or finish a message. */
export const recheckMs = 1_000;
const notStarted = -1;

/** True for 5 s after the process was suspended: pending input has not been read yet. */
export const recentlySuspended = (wheelClock: WheelClock): boolean =>
  wheelClock.now() - wheelClock.wokeAt() < resumeGraceMs;

/** The action that is due: none, send a ping, or close the connection. */
type LivenessState = "healthy" | "ping_due" | "dead";

/**
 * Tracks the received bytes of one socket. All times come from the timer wheel. Single bytes reset
 * the idle timeout, but do not extend the time that a frame may take.
 */
export class Liveness {
  receivedAt: number;
  private pingedAt: number;
  private readonly socket: Pick<Socket, "bytesRead">;
  /** Bytes received at the last check, and when the last complete frame had arrived. */
  private bytesAtCheck: number;
  private bytesAtFrame: number;
  private frameStartedAt = notStarted;

  constructor(socket: Pick<Socket, "bytesRead">, now: number) {
    this.socket = socket;
    this.receivedAt = now;
    this.pingedAt = now;
    this.bytesAtCheck = socket.bytesRead;
    this.bytesAtFrame = this.bytesAtCheck;
  }

  /** A complete frame has arrived, or reading is paused. */
  touch(now: number): void {
    this.receivedAt = now;
    this.bytesAtFrame = this.bytesAtCheck = this.socket.bytesRead;
    this.frameStartedAt = notStarted;
  }

  /** A control frame arrived inside a message. It does not extend the time for that message. */
  touchDuringMessage(now: number): void {
    this.receivedAt = now;
    this.bytesAtCheck = this.socket.bytesRead;
  }

  /** @returns Milliseconds until the next check. */
  nextCheckIn(now: number, idleTimeoutMs: number, pingIntervalMs: number): number {
    const left = Math.min(this.pingedAt + pingIntervalMs, this.receivedAt + idleTimeoutMs) - now;
    return left > 0 && this.bytesAtCheck === this.bytesAtFrame ? left : recheckMs;
  }

  /**
   * @param idleTimeoutMs - Longest time without a byte. A message may take this long plus the time
   *   that its size allows.
   * @returns `ping_due` instead of `dead` if the last byte arrived before the process was suspended
   *   and no ping was sent since then.
   */
  inspect(wheelClock: WheelClock, idleTimeoutMs: number, pingIntervalMs: number): LivenessState {
    const now = wheelClock.now();
    const { bytesRead } = this.socket;
    if (bytesRead !== this.bytesAtCheck) this.receivedAt = now;
    this.bytesAtCheck = bytesRead;
    if (now - this.receivedAt >= idleTimeoutMs || this.isTooSlow(now, idleTimeoutMs))
      return this.recheck(now, wheelClock.wokeAt());
    if (now - this.pingedAt < pingIntervalMs) return "healthy";
    this.pingedAt = now;
    return "ping_due";
  }

  private recheck(now: number, wokeAt: number): LivenessState {
    if (this.receivedAt > wokeAt) return "dead";
    if (this.pingedAt > wokeAt) return now - this.pingedAt >= resumeGraceMs ? "dead" : "healthy";
    this.pingedAt = now;
    return "ping_due";
  }

  private isTooSlow(now: number, idleTimeoutMs: number): boolean {
    const bytes = this.bytesAtCheck - this.bytesAtFrame;
    if (bytes === 0) return false;
    if (this.frameStartedAt === notStarted) this.frameStartedAt = now;
    return now - this.frameStartedAt > idleTimeoutMs + bytes / minBytesPerMs;
  }
}
