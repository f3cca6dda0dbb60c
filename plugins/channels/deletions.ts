/** Remembers the sessions whose conversations were deleted, so that old answers stay deleted. */
import type { Address } from "./contract.ts";

/** Sessions that are remembered. An application rarely answers after so many other deletions. */
const maxSessions = 10_000;

interface Deletion {
  readonly number: number;
  /** Ids of messages that were sent before the deletion are lower, those sent later are higher. */
  readonly boundary: string;
}

/** Unambiguous, whatever characters channel and session contain. */
const keyOf = ({ channel, session }: Address): string => `${channel.length} ${channel}${session}`;

export class Deletions {
  /** Deletions so far. */
  count = 0;
  /** Latest deletion last. */
  private readonly sessions = new Map<string, Deletion>();
  private readonly cut: () => string;

  /** @param cut - Separates the ids of sent messages from later ones. */
  constructor(cut: () => string) {
    this.cut = cut;
  }

  add(address: Address): void {
    const key = keyOf(address);
    this.count += 1;
    this.sessions.delete(key);
    this.sessions.set(key, { number: this.count, boundary: this.cut() });
    if (this.sessions.size > maxSessions) this.sessions.delete(this.sessions.keys().next().value!);
  }

  /** True if the session was deleted after the first `count` deletions. */
  hasSince(address: Address, count: number): boolean {
    return (this.sessions.get(keyOf(address))?.number ?? 0) > count;
  }

  /** True if a sent message with this id was deleted with its conversation. */
  hasMessage(address: Address, id: string): boolean {
    const deletion = this.sessions.get(keyOf(address));
    return deletion !== undefined && id < deletion.boundary;
  }
}
