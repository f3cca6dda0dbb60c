/**
 * Checks connections when they are due, in passes over all of them. `Liveness` detects dead and
 * slow peers: any received byte resets the idle timeout, and a frame must arrive within that
 * timeout plus size / 32 bytes per millisecond.
 */
import type { Socket } from "node:net";
import type { Clock, Release } from "../../../kernel/index.ts";

/**
 * Milliseconds during which this process ran. The time stops while the process is suspended, and
 * changes of the system clock do not move it.
 */
export interface CheckClock {
  /** The time as of the last pass. */
  now(): number;
  /** When the process last resumed after a suspension; minus infinity if it never was suspended. */
  wokeAt(): number;
}

export const unscheduled = Number.POSITIVE_INFINITY;
/** A connection, as the passes see it. */
export interface CheckedPeer {
  /** The time of the next check. The first pass after it calls `check`. */
  dueAt: number;
  /** @returns Milliseconds until the next check. */
  check(): number;
}

/** A quarter of the shortest timeout, so that a ping is due well before its client is dead. */
const passMs = 250;
/** The time of a pass beyond this is a suspension. New checks are spread over as much. */
const maxPassMs = 1_000;
const latenessWindowMs = 30_000;

/** Remembers the largest delay of this half minute and of the previous one. */
class MaxLateness {
  private since = 0;
  private current = 0;
  private previous = 0;

  record(now: number, delayMs: number): void {
    this.advance(now);
    this.current = Math.max(this.current, delayMs);
  }

  read(now: number): number {
    this.advance(now);
    return Math.max(this.current, this.previous);
  }

  private advance(now: number): void {
    const passedMs = now - this.since;
    if (passedMs >= 0 && passedMs < latenessWindowMs) return;
    this.previous = passedMs < 2 * latenessWindowMs ? this.current : 0;
    this.current = 0;
    this.since = now;
  }
}

/** Runs while there are peers. */
export class ConnectionChecks implements CheckClock {
  private readonly clock: Clock;
  private readonly after: (ms: number, run: () => void) => Release;
  private readonly peers: ReadonlyMap<string, CheckedPeer>;
  private readonly lateness = new MaxLateness();
  private time = 0;
  private resumedAt = Number.NEGATIVE_INFINITY;
  private passedAt = 0;
  private spread = 0;
  private stopTimer: Release | undefined;

  constructor(
    clock: Clock,
    after: (ms: number, run: () => void) => Release,
    peers: ReadonlyMap<string, CheckedPeer>,
  ) {
    this.clock = clock;
    this.after = after;
    this.peers = peers;
  }

  now(): number {
    return this.time;
  }

  wokeAt(): number {
    return this.resumedAt;
  }

  /** The largest delay of a pass, in milliseconds, during the last 30 to 60 seconds. */
  lateMs(): number {
    return this.lateness.read(this.clock.now());
  }

  /** Starts the passes, or stops them if there are no peers. */
  startOrStop(): void {
    if (this.peers.size === 0) {
      this.stopTimer?.();
      this.stopTimer = undefined;
    } else if (!this.stopTimer) {
      this.passedAt = this.clock.now();
      this.schedulePass();
    }
  }

  /** Checks the peer within a second. Many peers are spread over it. */
  reschedule(peer: CheckedPeer): void {
    peer.dueAt = Math.min(peer.dueAt, this.time + (this.spread++ % maxPassMs));
  }

  private schedulePass(): void {
    this.stopTimer = this.after(passMs, () => {
      this.schedulePass();
      this.pass();
    });
  }

  private pass(): void {
    const now = this.clock.now();
    const passedMs = Math.max(0, now - this.passedAt); // 0: the clock was set back
    this.passedAt = now;
    this.lateness.record(now, passedMs - passMs);
    if (passedMs > maxPassMs) this.resumedAt = this.time;
    this.time += Math.min(passedMs, maxPassMs);
    for (const peer of this.peers.values())
      if (peer.dueAt <= this.time) peer.dueAt = this.time + peer.check();
  }
}

/** Slowest rate, in bytes per millisecond, at which a message may arrive after the idle timeout. */
const minBytesPerMs = 32;
/** Time that every peer has to respond to a ping after the process was suspended. */
const resumeGraceMs = 5_000;
/** Interval between checks of a peer that must act: respond, read or finish a message. */
export const recheckMs = 1_000;
const notStarted = -1;

/** True for 5 s after the process was suspended: pending input has not been read yet. */
export const recentlySuspended = (checkClock: CheckClock): boolean =>
  checkClock.now() - checkClock.wokeAt() < resumeGraceMs;

/** The action that is due: none, send a ping, or close the connection. */
type LivenessState = "healthy" | "ping_due" | "dead";

/**
 * Tracks the received bytes of one socket. All times come from the passes. Single bytes reset
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
  inspect(checkClock: CheckClock, idleTimeoutMs: number, pingIntervalMs: number): LivenessState {
    const now = checkClock.now();
    const { bytesRead } = this.socket;
    if (bytesRead !== this.bytesAtCheck) this.receivedAt = now;
    this.bytesAtCheck = bytesRead;
    if (now - this.receivedAt >= idleTimeoutMs || this.isTooSlow(now, idleTimeoutMs))
      return this.recheck(now, checkClock.wokeAt());
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
