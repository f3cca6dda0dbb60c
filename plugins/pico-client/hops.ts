/** Messages whose way back is known. */
const maxRemembered = 256;

/** How often a message was carried from one agent to another. Answers name no message: they count from the last one
 *  that was sent. */
export interface HopTracker {
  /** Of a message on its way out: as many as the one it answers; 0 when a person begins. */
  sending(message: { readonly inReplyTo?: string; readonly hops?: number }): number;
  received(id: string): number;
}

export function createHopTracker(): HopTracker {
  const known = new Map<string, number>();
  let last = 0;
  return {
    sending({ inReplyTo = "", hops }) {
      last = hops ?? known.get(inReplyTo) ?? 0;
      return last;
    },
    received(id) {
      known.delete(id);
      known.set(id, last + 1);
      const [oldest] = known.keys();
      if (known.size > maxRemembered && oldest !== undefined) known.delete(oldest);
      return last + 1;
    },
  };
}
