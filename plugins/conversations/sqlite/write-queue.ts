/** The writes that wait for the file, and the outcomes that wait for their writers. */
import type { Live } from "./live.ts";

/** Receives the outcome of a write: nothing, or why it was not stored. */
export type Outcome = (error?: unknown) => void;

export interface Write {
  readonly live: Live;
  readonly bytes: number;
  /** Writes its rows, inside the transaction. Absent for what only waits for those before it. */
  readonly run?: () => void;
  /** Runs when its rows are written or refused. */
  readonly ran?: () => void;
  readonly done: Outcome;
}

/** A write with its place among all. */
interface QueuedWrite extends Write {
  readonly order: number;
}

export interface WriteOutcome {
  readonly write: QueuedWrite;
  readonly error: unknown;
}

/** Writes of one transaction, and outcomes that writers receive, in one turn of the event loop. */
const maxPerTurn = 192;

/** Writes of one session keep their order; the sessions take turns. */
export class WriteQueue {
  /** Writes that were added, and those whose writers have their outcome. */
  added = 0;
  told = 0;
  /** Bytes of writes without an outcome. */
  bytes = 0;
  /** Outcomes in the order in which writers receive them. */
  readonly outcomes: WriteOutcome[] = [];
  private readonly waiting = new Map<Live, QueuedWrite[]>();

  /** True while writes wait for the file. */
  get hasWaiting(): boolean {
    return this.waiting.size > 0;
  }

  get isEmpty(): boolean {
    return this.added === this.told;
  }

  add(write: Write): void {
    this.added += 1;
    const queued = { ...write, order: this.added };
    const own = this.waiting.get(write.live);
    if (own) own.push(queued);
    else this.waiting.set(write.live, [queued]);
    this.bytes += write.bytes;
    write.live.writes += 1;
  }

  lives(): Iterable<Live> {
    return this.waiting.keys();
  }

  /** The next writes of this session, or of all in rotation, oldest first. `wrote` removes them. */
  next(only?: Live): readonly QueuedWrite[] {
    if (only) return this.waiting.get(only)?.slice(0, maxPerTurn) ?? [];
    const next: QueuedWrite[] = [];
    for (let index = 0, before = -1; next.length > before && next.length < maxPerTurn; index += 1) {
      before = next.length;
      for (const own of this.waiting.values())
        if (index < own.length && next.length < maxPerTurn) next.push(own[index]!);
    }
    return next.sort((one, other) => one.order - other.order);
  }

  /**
   * The rows of these writes are written.
   *
   * @param failed - Sessions whose writes were refused, with all that wait: their numbers follow.
   */
  wrote(writes: readonly QueuedWrite[], failed: ReadonlyMap<Live, unknown>): void {
    for (const write of writes) {
      const own = this.waiting.get(write.live)!;
      own.shift();
      this.finish(write, failed.get(write.live));
      this.waiting.delete(write.live);
      if (own.length > 0) this.waiting.set(write.live, own);
    }
    for (const [live, error] of failed) {
      for (const write of this.waiting.get(live) ?? []) this.finish(write, error);
      this.waiting.delete(live);
    }
  }

  /** Removes the next outcomes, for their writers. */
  take(count: number): readonly WriteOutcome[] {
    const taken = this.outcomes.splice(0, Math.min(count, maxPerTurn));
    this.told += taken.length;
    for (const { write } of taken) {
      this.bytes -= write.bytes;
      write.live.writes -= 1;
    }
    return taken;
  }

  private finish(write: QueuedWrite, error: unknown): void {
    write.ran?.();
    this.outcomes.push({ write, error });
  }
}
