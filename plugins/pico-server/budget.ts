/** Somebody who holds what the application has not accepted. */
export interface Holder {
  /** Reads no more for now, or goes on. */
  hold(isHeld: boolean): void;
  /** What it holds; kept by the budget, zero at first. */
  bytes: number;
}

/** What clients have sent and the application has not accepted, of all of them together. */
export interface Budget {
  grow(holder: Holder, bytes: number): void;
  shrink(holder: Holder, bytes: number): void;
  /** Reads no more: it is held up no more either. */
  leave(holder: Holder): void;
  /** For who cannot be held up: counts the bytes, or answers `false` when there is no room for them. */
  take(bytes: number): boolean;
  give(bytes: number): void;
}

/** Over `most` bytes the one that holds most is held up, with each message that comes on top another one. */
export function createBudget(most: number): Budget {
  /** Those who ever held anything, until they leave. */
  const holders = new Set<Holder>();
  const held = new Set<Holder>();
  let used = 0;

  function change(holder: Holder, bytes: number): void {
    used += bytes;
    holder.bytes += bytes;
  }

  function holdLargest(): void {
    let largest: Holder | undefined;
    for (const holder of holders) {
      if (!held.has(holder) && holder.bytes > (largest?.bytes ?? 0)) largest = holder;
    }
    if (!largest) return;
    held.add(largest);
    largest.hold(true);
  }

  function letGo(): void {
    if (used > most || held.size === 0) return;
    const all = [...held];
    held.clear();
    for (const one of all) one.hold(false);
  }

  return {
    grow(holder, bytes) {
      if (holder.bytes === 0) holders.add(holder);
      change(holder, bytes);
      if (used > most) holdLargest();
    },
    shrink(holder, bytes) {
      change(holder, -bytes);
      letGo();
    },
    take(bytes) {
      if (used + bytes > most) return false;
      used += bytes;
      return true;
    },
    give(bytes) {
      used -= bytes;
      letGo();
    },
    leave(holder) {
      holders.delete(holder);
      held.delete(holder);
    },
  };
}
