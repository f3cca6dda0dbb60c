// The turns that the client of one connection wrote: it knows them, so it receives only the number.
import type { SequencedEntry } from "../../conversations/index.ts";

const keyOf = (session: string, id: string): string => `${session}\n${id}`;

interface OwnTurn {
  /** The acknowledgement of the message will contain the number. */
  readonly isAcknowledged: boolean;
  /** Set when the turn is in the log and its number has not been sent. */
  entry: SequencedEntry | undefined;
}

/**
 * Holds back the number of a turn until the acknowledgement. If another numbered frame must be sent
 * before, the number is released first, so that the client sees no hole.
 */
export class OwnTurns {
  private readonly turns = new Map<string, OwnTurn>();
  private held = 0;

  /** @param isAcknowledged - The acknowledgement of the message can contain the number. */
  expect(session: string, id: string, isAcknowledged: boolean): void {
    const key = keyOf(session, id);
    if (!this.turns.has(key)) this.turns.set(key, { isAcknowledged, entry: undefined });
  }

  /**
   * @returns `none` if another client wrote the turn; `held` if its number is sent later; `own` if
   *   the caller must send the number now.
   */
  claim(entry: SequencedEntry): "none" | "held" | "own" {
    const { session, request } = entry;
    const key = request === undefined ? "" : keyOf(session, request);
    const turn = this.turns.get(key);
    if (!turn) return "none";
    if (!turn.isAcknowledged) {
      this.turns.delete(key);
      return "own";
    }
    turn.entry = entry;
    this.held += 1;
    return "held";
  }

  /** The message is settled. @returns The turn whose number has not been sent. */
  settle(session: string, id: string): SequencedEntry | undefined {
    const key = keyOf(session, id);
    const entry = this.turns.get(key)?.entry;
    this.turns.delete(key);
    if (entry) this.held -= 1;
    return entry;
  }

  /**
   * @param before - Only turns with a lower number.
   * @returns The turns whose numbers have not been sent, in order. The caller sends them now.
   */
  release(before = Infinity): readonly SequencedEntry[] {
    if (this.held === 0) return [];
    const released: SequencedEntry[] = [];
    for (const turn of this.turns.values()) {
      if (!turn.entry || turn.entry.cursor.seq >= before) continue;
      released.push(turn.entry);
      turn.entry = undefined;
    }
    this.held -= released.length;
    return released.sort((a, b) => a.cursor.seq - b.cursor.seq);
  }
}
