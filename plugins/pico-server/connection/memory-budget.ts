// Measures and bounds the memory of messages that the application has not accepted.

/** A connection that has such bytes. */
export interface BudgetMember {
  /** Pauses reading, or allows it again. */
  setBudgetPause(isPaused: boolean): void;
  /** Sets a deadline for the unfinished message, because all others wait for it, or lifts it. */
  setDeadline(hasDeadline: boolean): void;
  /** Bytes of this connection. Only the budget writes it; 0 at first. */
  bytes: number;
  /** Bytes of its unfinished message. Only the budget writes it; 0 at first. */
  arriving: number;
}

/** Complete messages may use this part of the limit while one unfinished message may exceed it. */
const completeShare = 1 / 4;

/**
 * Beyond the limit, the largest member is paused, and another one each time more bytes arrive. Only
 * the largest unfinished message continues, or connections in the middle of a message would wait
 * for each other.
 */
export class MemoryBudget {
  private readonly limit: () => number;
  /** Members that have ever counted bytes, until they leave. */
  private readonly members = new Set<BudgetMember>();
  private readonly paused = new Set<BudgetMember>();
  private used = 0;
  private arriving = 0;
  /** The member whose unfinished message continues beyond the limit. */
  private exempt: BudgetMember | undefined;

  /** @param limit - Returns the limit in bytes. */
  constructor(limit: () => number) {
    this.limit = limit;
  }

  /** Counts a complete message. */
  grow(member: BudgetMember, bytes: number): void {
    this.change(member, bytes);
  }

  shrink(member: BudgetMember, bytes: number): void {
    this.change(member, -bytes);
  }

  /** Sets how many bytes of an unfinished message have arrived. */
  arrive(member: BudgetMember, bytes: number): void {
    const added = bytes - member.arriving;
    member.arriving = bytes;
    this.arriving += added;
    this.change(member, added);
  }

  /**
   * Counts the bytes of a sender that cannot be paused.
   *
   * @returns `false` if they do not fit.
   */
  reserve(bytes: number): boolean {
    if (this.used + bytes > this.limit()) return false;
    this.used += bytes;
    return true;
  }

  release(bytes: number): void {
    this.used -= bytes;
    this.resumePaused();
  }

  /** The member reads no more, so the budget does not pause it any more. */
  leave(member: BudgetMember): void {
    this.members.delete(member);
    this.paused.delete(member);
    if (member !== this.exempt) return;
    this.dropExempt();
    this.resumePaused();
  }

  private change(member: BudgetMember, bytes: number): void {
    if (member.bytes === 0) this.members.add(member);
    this.used += bytes;
    member.bytes += bytes;
    if (bytes < 0) this.resumePaused();
    else if (this.used > this.limit()) this.pauseLargest();
  }

  private largest(measure: (member: BudgetMember) => number): BudgetMember | undefined {
    let found: BudgetMember | undefined;
    let maxBytes = 0;
    for (const member of this.members) {
      const bytes = measure(member);
      if (bytes <= maxBytes) continue;
      maxBytes = bytes;
      found = member;
    }
    return found;
  }

  private dropExempt(): void {
    const member = this.exempt;
    this.exempt = undefined;
    member?.setDeadline(false);
  }

  private chooseExempt(): void {
    if (this.exempt && this.exempt.arriving === 0) this.dropExempt();
    if (this.exempt || this.used - this.arriving > this.limit() * completeShare) return;
    const member = (this.exempt = this.largest(({ arriving }) => arriving));
    if (!member) return;
    member.setDeadline(true);
    if (this.paused.delete(member)) member.setBudgetPause(false);
  }

  private pauseLargest(): void {
    this.chooseExempt();
    const member = this.largest((each) =>
      each === this.exempt || this.paused.has(each) ? 0 : each.bytes,
    );
    if (!member) return;
    this.paused.add(member);
    member.setBudgetPause(true);
  }

  private resumePaused(): void {
    if (this.used > this.limit()) return this.chooseExempt();
    this.dropExempt();
    if (this.paused.size === 0) return;
    const members = [...this.paused];
    this.paused.clear();
    for (const member of members) member.setBudgetPause(false);
  }
}
