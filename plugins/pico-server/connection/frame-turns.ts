/** Limits the frames that all connections together hand over in one turn of the event loop. */

/** A connection with frames. */
export interface FrameSource {
  /** Hands over what it may, and asks `take` for each frame. */
  drain(): void;
}

/** A frame leads to at most three writes, and a store writes 192 in a turn. */
const maxPerTurn = 64;

/** Connections that have more frames take turns, one frame each. */
export class FrameTurns {
  private left = maxPerTurn;
  private isScheduled = false;
  private readonly waiting = new Set<FrameSource>();
  /** The connection that may hand over one frame now. */
  private served: FrameSource | undefined;

  /** @returns False if the frame must wait: `drain` of its connection is called in a later turn. */
  take(source: FrameSource): boolean {
    this.schedule();
    if (this.served === source) {
      this.served = undefined;
      return true;
    }
    if (this.left > 0 && this.waiting.size === 0) {
      this.left -= 1;
      return true;
    }
    this.waiting.add(source);
    return false;
  }

  /** The connection hands over nothing more. */
  leave(source: FrameSource): void {
    this.waiting.delete(source);
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(() => this.begin());
  }

  private begin(): void {
    this.isScheduled = false;
    this.left = maxPerTurn;
    for (const source of this.waiting) {
      if (this.left === 0) break;
      this.waiting.delete(source);
      this.left -= 1;
      this.served = source;
      source.drain();
      // It is full, and needs no turn.
      if (this.served !== undefined) this.left += 1;
      this.served = undefined;
    }
    if (this.waiting.size > 0) this.schedule();
  }
}
