/**
 * Checks connections when they are due. A timer wheel calls each timer and touches no other (see
 * docs/decisions/0018). `Liveness` detects dead and slow peers: any received byte resets the idle
 * timeout, and a frame must arrive within that timeout plus size / 32 bytes per millisecond.
 */
import type { Socket } from "node:net";
import type { Clock, Release } from "../../../kernel/index.ts";

/**
 * Milliseconds during which this process ran. The time stops while the process is suspended, and
 * changes of the system clock do not move it.
 */
export interface WheelClock {
  /** The time as of the last step of the wheel. */
  now(): number;
  /** When the process last resumed after a suspension; minus infinity if it never was suspended. */
  wokeAt(): number;
}

export const unscheduled = -1;
export interface Timer {
  /** The step at which the timer is due, or `unscheduled`. Only the wheel writes it. */
  slot: number;
  /** @returns Milliseconds until the next check. */
  check(): number;
}

/** Steps are short, because a thousand pings in one step would delay all other work. */
interface TimerWheel extends WheelClock {
  add(timer: Timer): void;
  /** Checks the timer within a second. */
  reschedule(timer: Timer): void;
  remove(timer: Timer): void;
  /** The largest delay of a step, in milliseconds, during the last 30 to 60 seconds. */
  lateMs(): number;
}

const stepMs = 50;
/** One second. New timers are spread over this many steps; a late wheel catches up with as many. */
const slotsPerSecond = 20;
/** Steps of one revolution. A timer that may wait longer is checked once per revolution. */
const slotCount = 1_024;
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

class SlottedTimerWheel implements TimerWheel {
  private readonly clock: Clock;
  private readonly after: (ms: number, run: () => void) => Release;
  private readonly slots: Set<Timer>[] = Array.from({ length: slotCount });
  private readonly lateness = new MaxLateness();
  private count = 0;
  private spread = 0;
  /** Steps since the wheel was created. */
  private stepNumber = 0;
  private resumedAt = Number.NEGATIVE_INFINITY;
  private steppedAt = 0;
  private stopTimer: Release | undefined;

  constructor(clock: Clock, after: (ms: number, run: () => void) => Release) {
    this.clock = clock;
    this.after = after;
  }

  now(): number {
    return this.stepNumber * stepMs;
  }

  wokeAt(): number {
    return this.resumedAt;
  }

  lateMs(): number {
    return this.lateness.read(this.clock.now());
  }

  add(timer: Timer): void {
    this.count += 1;
    this.placeSoon(timer);
    if (this.stopTimer) return;
    this.steppedAt = this.clock.now();
    this.scheduleStep();
  }

  reschedule(timer: Timer): void {
    // The timer is due within a second anyway, or it is unscheduled.
    if (timer.slot <= this.stepNumber + slotsPerSecond) return;
    this.unplace(timer);
    this.placeSoon(timer);
  }

  remove(timer: Timer): void {
    if (timer.slot === unscheduled) return;
    this.unplace(timer);
    this.count -= 1;
    if (this.count > 0) return;
    this.stopTimer?.();
    this.stopTimer = undefined;
  }

  private place(timer: Timer, steps: number): void {
    timer.slot = this.stepNumber + Math.min(Math.max(1, steps), slotCount - 1);
    (this.slots[timer.slot % slotCount] ??= new Set()).add(timer);
  }

  private placeSoon(timer: Timer): void {
    this.place(timer, 1 + (this.spread++ % slotsPerSecond));
  }

  private unplace(timer: Timer): void {
    this.slots[timer.slot % slotCount]?.delete(timer);
    timer.slot = unscheduled;
  }

  private scheduleStep(): void {
    this.stopTimer = this.after(stepMs, () => {
      this.scheduleStep();
      this.step();
    });
  }

  /**
   * Makes up for missed steps, at most one second of them. The process was suspended for the time
   * beyond that.
   */
  private step(): void {
    const now = this.clock.now();
    const passedMs = now - this.steppedAt;
    const steps = Math.min(slotsPerSecond, Math.floor(passedMs / stepMs));
    if (steps <= 0) {
      this.steppedAt = Math.min(this.steppedAt, now); // the clock was set back
      return;
    }
    this.lateness.record(now, passedMs - stepMs);
    if (passedMs > slotsPerSecond * stepMs) this.resumedAt = this.now();
    this.steppedAt += passedMs - (passedMs % stepMs);
    for (let n = 0; n < steps; n++) {
      this.stepNumber += 1;
      const slot = this.slots[this.stepNumber % slotCount];
      if (slot && slot.size > 0) this.runSlot(slot);
    }
  }

  private runSlot(slot: Set<Timer>): void {
    for (const timer of [...slot]) {
      if (timer.slot !== this.stepNumber) continue; // an earlier timer of this slot removed it
      const waitMs = timer.check();
      if (timer.slot !== this.stepNumber) continue; // the check removed or moved it
      slot.delete(timer);
      this.place(timer, Math.ceil(waitMs / stepMs));
    }
  }
}

export const createTimerWheel = (
  clock: Clock,
  after: (ms: number, run: () => void) => Release,
): TimerWheel => new SlottedTimerWheel(clock, after);

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
