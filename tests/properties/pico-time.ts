// A clock that only tests advance, and repeatable random numbers.
import type { Clock } from "../../lib/pico-link/index.ts";

export interface Time extends Clock {
  after(ms: number, run: () => void): void;
  /** Advances the time and runs everything that is due until then. Promises settle in between. */
  pass(ms: number): Promise<void>;
}

export function createTime(): Time {
  let now = 1_700_000_000_000;
  let ids = 0;
  const due = new Map<number, { at: number; run: () => void }>();
  const add = (run: () => void, ms: number): number => {
    due.set(++ids, { at: now + Math.max(0, ms), run });
    return ids;
  };
  const next = (): [number, { at: number; run: () => void }] | undefined => {
    let first: [number, { at: number; run: () => void }] | undefined;
    for (const entry of due) if (!first || entry[1].at < first[1].at) first = entry;
    return first;
  };
  return {
    now: () => now,
    setTimeout: add,
    clearTimeout: (id) => void due.delete(id as number),
    after: (ms, run) => void add(run, ms),
    async pass(ms) {
      const end = now + ms;
      const settle = async (): Promise<void> => {
        for (let turn = 0; turn < 8; turn++) await Promise.resolve();
      };
      await settle();
      for (let entry = next(); entry && entry[1].at <= end; entry = next()) {
        due.delete(entry[0]);
        now = entry[1].at;
        entry[1].run();
        await settle();
      }
      now = end;
    },
  };
}

/**
 * mulberry32.
 *
 * @returns A function that returns numbers of at least 0 and less than 1.
 */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
