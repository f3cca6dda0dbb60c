// The texts that one client has of its unfinished messages.
import type { SequencedEntry } from "../../conversations/index.ts";

/**
 * Fewer than clients keep, so that a client has every text that grows. A message beyond this limit
 * is sent as whole text once more.
 */
const maxTexts = 32;

/** Decides whether a client needs the whole text of an entry. */
export class SentTexts {
  /** Revision by message id; the most recently sent is last. */
  private readonly revisions = new Map<string, number>();

  /**
   * Records that the client is sent the text of the entry.
   *
   * @returns True if the text that the entry adds is enough.
   */
  accept({ message, growth }: SequencedEntry): boolean {
    if (message === undefined || (growth === undefined && this.revisions.size === 0)) return false;
    const revision = this.revisions.get(message);
    this.revisions.delete(message);
    if (growth === undefined) return false;
    if (!growth.final) {
      this.revisions.set(message, growth.revision);
      const [oldest] = this.revisions.keys();
      if (this.revisions.size > maxTexts && oldest !== undefined) this.revisions.delete(oldest);
    }
    return revision !== undefined && revision === growth.follows;
  }
}
