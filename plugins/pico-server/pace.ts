/** Bytes per millisecond that a message of some size has to come with, beside the time everybody has. */
const least = 32;

/** How long a message has been on its way: single bytes now and then keep a connection alive, but not for ever. */
export interface Pace {
  /** A whole frame has arrived. */
  whole(): void;
  /** Asked now and then: the frame on its way takes longer than `patience` (milliseconds) and its size allow. `lateMs`:
   *  this process slept meanwhile. */
  isTooSlow(now: number, patience: number, lateMs: number): boolean;
}

export function createPace(bytesRead: () => number): Pace {
  let wholeAt = bytesRead();
  let begunAt: number | undefined;
  return {
    whole() {
      wholeAt = bytesRead();
      begunAt = undefined;
    },
    isTooSlow(now, patience, lateMs) {
      const bytes = bytesRead() - wholeAt;
      if (bytes === 0) return false;
      begunAt = begunAt === undefined ? now : Math.min(begunAt + lateMs, now); // the clock may have been set back
      return now - begunAt > patience + bytes / least;
    },
  };
}
