// The texts that one client has of its unfinished messages.
import { BoundedMap } from "../../../lib/util.ts";
import type { SequencedEntry } from "../../conversations/index.ts";

/**
 * Fewer than clients keep, so that a client has every text that grows. A message beyond this limit
 * is sent as whole text once more.
 */
const maxTexts = 32;

/** Decides whether a client needs the whole text of an entry. */
export class SentTexts {
  /** Length of the text by message id; the most recently sent is last. */
  private readonly lengths = new BoundedMap<string, number>(maxTexts);

  /** True if the client has the text after this entry. */
  has({ message, growth }: SequencedEntry): boolean {
    return message !== undefined && this.lengths.get(message) === growth?.length;
  }

  /**
   * Records that the client is sent the text of the entry.
   *
   * @returns True if the text that the entry adds is enough.
   */
  accept({ message, growth }: SequencedEntry): boolean {
    if (message === undefined) return false;
    const { lengths } = this;
    const known = lengths.get(message);
    lengths.delete(message);
    if (!growth) return false;
    const { length, added, final } = growth;
    if (!final) lengths.set(message, length);
    return added !== undefined && known === length - added.length;
  }
}
