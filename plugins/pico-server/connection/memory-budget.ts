/** The memory budget of everything that clients have sent and the application has not accepted. */

/** A connection that holds such bytes. */
export interface BudgetMember {
  /** Pauses reading, or allows it again. */
  hold(isHeld: boolean): void;
  /** Sets a deadline for its unfinished message, or lifts it: all others wait for it. */
  hurry(isHurried: boolean): void;
  /** Bytes it holds, and how many of them belong to an unfinished message. Written by the budget, zero at first. */
  bytes: number;
  arriving: number;
}

export interface MemoryBudget {
  /** Counts a message that is there as a whole. */
  grow(budgetMember: BudgetMember, bytes: number): void;
  shrink(budgetMember: BudgetMember, bytes: number): void;
  /** Sets what has arrived of an unfinished message. */
  arrive(budgetMember: BudgetMember, bytes: number): void;
  /** The holder reads no more, so the budget does not pause it any more. */
  leave(budgetMember: BudgetMember): void;
  /** Counts the bytes of a sender that cannot be paused; `false` if they do not fit. */
  take(bytes: number): boolean;
  give(bytes: number): void;
}

/** Part of the limit that whole messages may take while the largest unfinished one goes on beyond it. */
const wholeShare = 1 / 4;

/**
 * Beyond `limit` bytes the largest holder is paused, and another one each time more bytes arrive. The largest
 * unfinished message alone goes on, or connections in the middle of a message would wait for each other.
 */
export function createMemoryBudget(limit: () => number): MemoryBudget {
  /** Connections that have ever held anything, until they leave. */
  const holders = new Set<BudgetMember>();
  const held = new Set<BudgetMember>();
  let used = 0;
  let arriving = 0;
  let first: BudgetMember | undefined;

  function largest(measure: (budgetMember: BudgetMember) => number): BudgetMember | undefined {
    let found: BudgetMember | undefined;
    let most = 0;
    for (const budgetMember of holders) {
      const bytes = measure(budgetMember);
      if (bytes <= most) continue;
      most = bytes;
      found = budgetMember;
    }
    return found;
  }

  function letFirstGo(): void {
    const one = first;
    first = undefined;
    one?.hurry(false);
  }

  function chooseFirst(): void {
    if (first && first.arriving === 0) letFirstGo();
    if (first || used - arriving > limit() * wholeShare) return;
    first = largest((budgetMember) => budgetMember.arriving);
    if (!first) return;
    first.hurry(true);
    if (held.delete(first)) first.hold(false);
  }

  function holdLargest(): void {
    chooseFirst();
    const one = largest((budgetMember) =>
      budgetMember === first || held.has(budgetMember) ? 0 : budgetMember.bytes,
    );
    if (!one) return;
    held.add(one);
    one.hold(true);
  }

  function letGo(): void {
    if (used > limit()) return chooseFirst();
    letFirstGo();
    if (held.size === 0) return;
    const all = [...held];
    held.clear();
    for (const one of all) one.hold(false);
  }

  function change(budgetMember: BudgetMember, bytes: number): void {
    if (budgetMember.bytes === 0) holders.add(budgetMember);
    used += bytes;
    budgetMember.bytes += bytes;
    if (bytes < 0) letGo();
    else if (used > limit()) holdLargest();
  }

  return {
    grow: (budgetMember, bytes) => change(budgetMember, bytes),
    shrink: (budgetMember, bytes) => change(budgetMember, -bytes),
    arrive(budgetMember, bytes) {
      const more = bytes - budgetMember.arriving;
      budgetMember.arriving = bytes;
      arriving += more;
      change(budgetMember, more);
    },
    take(bytes) {
      if (used + bytes > limit()) return false;
      used += bytes;
      return true;
    },
    give(bytes) {
      used -= bytes;
      letGo();
    },
    leave(budgetMember) {
      holders.delete(budgetMember);
      held.delete(budgetMember);
      if (budgetMember !== first) return;
      letFirstGo();
      letGo();
    },
  };
}
