/** Remembers the sessions whose conversations were deleted, so that old answers stay deleted. */
import { BoundedMap, keyOf } from "../../lib/util.ts";
import type { Address } from "./contract.ts";

/** Sessions that are remembered. An application rarely answers after so many other deletions. */
const maxSessions = 10_000;

interface Deletion {
  readonly number: number;
  /** Ids of messages that were sent before the deletion are lower, those sent later are higher. */
  readonly boundary: string;
}

export class Deletions {
  /** Deletions so far. */
  count = 0;
  /** Latest deletion last. */
  private readonly sessions = new BoundedMap<string, Deletion>(maxSessions);
  private readonly cut: () => string;

  /** @param cut - Separates the ids of sent messages from later ones. */
  constructor(cut: () => string) {
    this.cut = cut;
  }

  add(address: Address): void {
    this.count += 1;
    const deletion = { number: this.count, boundary: this.cut() };
    this.sessions.renew(keyOf(address.channel, address.session), deletion);
  }

  /** True if the session was deleted after the first `count` deletions. */
  hasSince(address: Address, count: number): boolean {
    return (this.sessions.get(keyOf(address.channel, address.session))?.number ?? 0) > count;
  }

  /** True if a sent message with this id was deleted with its conversation. */
  hasMessage(address: Address, id: string): boolean {
    const deletion = this.sessions.get(keyOf(address.channel, address.session));
    return deletion !== undefined && id < deletion.boundary;
  }
}
