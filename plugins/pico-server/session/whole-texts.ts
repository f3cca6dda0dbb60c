// Clients without `append` receive the whole text of a growing message in each update, so they
// receive fewer updates than clients to which only the added text is sent.
import type { Release } from "../../../kernel/index.ts";
import { keyOf } from "../../../lib/util.ts";
import type { SequencedEntry } from "../../conversations/index.ts";
import type { SentTexts } from "./sent-texts.ts";

/** Milliseconds between two whole texts of a message: at most nine per second. */
export const wholeTextMs = 112;
/** Milliseconds between two texts of a message that name what was added: at most 22 per second. */
export const addedTextMs = 45;

interface Pace {
  /** Sends the whole text to the clients that have not received it. */
  later: (() => void) | undefined;
  readonly cancel: Release;
}

/** Decides which updates carry the whole text. It knows the messages of the last 112 ms only. */
export class WholeTexts {
  private readonly after: (ms: number, run: () => void) => Release;
  private readonly paces = new Map<string, Pace>();

  constructor(after: (ms: number, run: () => void) => Release) {
    this.after = after;
  }

  /** All clients are sent the whole text now. */
  sent(session: string, message: string): void {
    this.end(session, message);
    this.start(keyOf(session, message));
  }

  /**
   * The message has grown.
   *
   * @param later - Called when the time has passed, unless the text is sent or replaced before.
   * @returns True if all clients are sent the text now.
   */
  grown(session: string, message: string, later: () => void): boolean {
    const key = keyOf(session, message);
    const pace = this.paces.get(key);
    if (!pace) this.start(key);
    else pace.later = later;
    return pace === undefined;
  }

  /** The message is complete or removed. */
  end(session: string, message: string): void {
    const key = keyOf(session, message);
    this.paces.get(key)?.cancel();
    this.paces.delete(key);
  }

  /** The conversation of this session is deleted. */
  forget(session: string): void {
    for (const [key, { cancel }] of this.paces) {
      if (!key.startsWith(keyOf(session))) continue;
      cancel();
      this.paces.delete(key);
    }
  }

  private start(key: string): void {
    const cancel = this.after(wholeTextMs, () => {
      const { later } = this.paces.get(key) ?? {};
      this.paces.delete(key);
      if (!later) return;
      this.start(key);
      later();
    });
    this.paces.set(key, { later: undefined, cancel });
  }
}

/**
 * Decides what a reader is sent of an entry.
 *
 * @param texts - The texts that the reader has; undefined if it receives whole texts.
 */
export function formOf(
  entry: SequencedEntry,
  texts: SentTexts | undefined,
): "whole" | "added" | "nothing" {
  const { growth } = entry;
  if (growth?.only === "whole" && texts?.has(entry)) return "nothing";
  if (texts?.accept(entry)) return "added";
  return growth?.only === "added" && !texts ? "nothing" : "whole";
}
