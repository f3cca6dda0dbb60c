/** Remembers which sessions' conversations were deleted, so that old answers stay deleted. */
import type { Address } from "./contract.ts";
import type { Sessions } from "./sessions.ts";

export class Deletions {
  /** Deletions so far. */
  count = 0;
  private readonly cut: () => string;
  private readonly sessions: Sessions;

  /** @param cut - Separates the ids of sent messages from later ones. */
  constructor(cut: () => string, sessions: Sessions) {
    this.cut = cut;
    this.sessions = sessions;
  }

  add(address: Address): void {
    this.count += 1;
    this.sessions.open(address).deletion = { number: this.count, boundary: this.cut() };
  }

  /** True if the session was deleted after the first `count` deletions. */
  hasSince(address: Address, count: number): boolean {
    return (this.sessions.find(address)?.deletion?.number ?? 0) > count;
  }

  /** True if a sent message with this id was deleted with its conversation. */
  hasMessage(address: Address, id: string): boolean {
    const deletion = this.sessions.find(address)?.deletion;
    return deletion !== undefined && id < deletion.boundary;
  }
}
