// Counts bodies of requests in the memory budget, so that unfinished ones delay no short message.
import type { MemoryBudget } from "../connection/memory-budget.ts";

/** Bodies up to this size may use the whole budget. */
const shortBytes = 64 * 1024;
/** Longer bodies that have not arrived completely may use this part of it. */
const unfinishedShare = 3 / 4;

/** The memory of one body. */
export interface BodyMemory {
  /** Counts arrived bytes. Returns `false`, without any effect, if there is no room for them. */
  reserve(bytes: number): boolean;
  /** The body is complete. */
  arrived(): void;
  /** Frees the memory. Call it once the application has accepted or rejected the message. */
  release(): void;
}

/** Creates the function that begins to count a body. `limit` returns the budget in bytes. */
export function createBodyMemory(
  budget: Pick<MemoryBudget, "reserve" | "release">,
  limit: () => number,
): () => BodyMemory {
  let unfinished = 0;

  return () => {
    let counted = 0;
    let arriving = 0;
    const arrived = (): void => {
      unfinished -= arriving;
      arriving = 0;
    };
    return {
      reserve(bytes) {
        const isShort = counted + bytes <= shortBytes;
        const others = unfinished - arriving;
        if (!isShort && others > 0 && unfinished + bytes > limit() * unfinishedShare) return false;
        if (!budget.reserve(bytes)) return false;
        counted += bytes;
        arriving += bytes;
        unfinished += bytes;
        return true;
      },
      arrived,
      release() {
        arrived();
        budget.release(counted);
        counted = 0;
      },
    };
  };
}
