/**
 * Ends the answers when the kernel stops: they may continue for a while, then the application is
 * asked to end them, and what has not ended shortly after is cut. It uses timers of Node, because a
 * stop must end while the clock of a test does not move. Arrived data is read before a limit ends.
 */
import type { ChannelAdapter } from "./contract.ts";
import type { Inbound } from "./inbound.ts";

/** Milliseconds of a stop that the steps after the answers need, at most. */
const maxReserveMs = 1_800;
const maxGraceMs = 250;

/** Time that connections need to close, also in a short stop. */
const minReserveMs = 200;

/** @returns The part of the stop in which the other steps end, after the answers. */
const reserveMsOf = (stopMs: number): number =>
  Math.min(maxReserveMs, Math.max(stopMs / 4, Math.min(minReserveMs, stopMs / 2)));

/**
 * @param stopMs - Milliseconds that the whole stop may take.
 * @param drainMs - Milliseconds that the channel allows.
 * @returns `answerMs`: how long answers continue. `graceMs`: how long the application has to return
 *   after that.
 */
export function stopTimes(
  stopMs: number,
  drainMs = Infinity,
): { readonly answerMs: number; readonly graceMs: number } {
  const reserveMs = reserveMsOf(stopMs);
  const answerMs = Math.max(0, Math.min(drainMs, stopMs - reserveMs));
  return { answerMs, graceMs: Math.min(maxGraceMs, reserveMs / 4) };
}

interface AnswerStopOptions {
  readonly inbound: Inbound;
  readonly adapters: () => Iterable<Pick<ChannelAdapter, "name" | "drainMs">>;
}

export class AnswerStop {
  private readonly options: AnswerStopOptions;
  private readonly timers = new Set<NodeJS.Timeout>();
  private graceMs = maxGraceMs;

  constructor(options: AnswerStopOptions) {
    this.options = options;
  }

  /** The kernel begins to stop. */
  begin(stopMs: number): void {
    for (const { name, drainMs } of this.options.adapters()) {
      const { answerMs, graceMs } = stopTimes(stopMs, drainMs);
      this.graceMs = graceMs;
      this.after(answerMs, () => this.cut(name));
    }
  }

  /** Ends all answers now. Resolves when they have ended, or were cut. */
  async finish(): Promise<void> {
    const { inbound, adapters } = this.options;
    // A channel that was detached may have answers, too.
    const names = [...adapters()].map(({ name }) => name);
    for (const name of [...names, ...inbound.queues.channels()]) this.cut(name);
    await inbound.queues.drained();
    for (const timer of this.timers) clearTimeout(timer);
    this.timers.clear();
    inbound.stop();
  }

  private cut(channel: string): void {
    const { inbound } = this.options;
    inbound.cut(channel);
    this.after(this.graceMs, () => inbound.giveUp(channel));
  }

  private after(ms: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      // Reads first, because the loop may have been busy for all of that time.
      setImmediate(run);
    }, ms);
    this.timers.add(timer);
  }
}
