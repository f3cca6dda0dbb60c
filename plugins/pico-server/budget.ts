/** Somebody who holds what the application has not accepted. */
export interface Holder {
  /** Reads no more for now, or goes on. */
  hold(isHeld: boolean): void;
}

/** What clients have sent and the application has not accepted, of all of them together. */
export interface Budget {
  grow(holder: Holder, bytes: number): void;
  shrink(holder: Holder, bytes: number): void;
}

/** Over `most` bytes the one that holds most is held up, with each message that comes on top another one. */
export function createBudget(most: number): Budget {
  const holders = new Map<Holder, number>();
  const held = new Set<Holder>();
  let used = 0;

  function change(holder: Holder, bytes: number): void {
    used += bytes;
    const left = (holders.get(holder) ?? 0) + bytes;
    if (left > 0) holders.set(holder, left);
    else holders.delete(holder);
  }

  function holdLargest(): void {
    let largest: Holder | undefined;
    for (const [holder, bytes] of holders) {
      if (!held.has(holder) && bytes > (largest ? holders.get(largest)! : 0)) largest = holder;
    }
    if (!largest) return;
    held.add(largest);
    largest.hold(true);
  }

  return {
    grow(holder, bytes) {
      change(holder, bytes);
      if (used > most) holdLargest();
    },
    shrink(holder, bytes) {
      change(holder, -bytes);
      if (used > most || held.size === 0) return;
      const all = [...held];
      held.clear();
      for (const one of all) one.hold(false);
    },
  };
}
