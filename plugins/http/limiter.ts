import { hash as digestOf } from "node:crypto";
import type { Clock } from "../../kernel/index.ts";
import { addressKey } from "./addresses.ts";
import type { Limiter, Verdict } from "./service.ts";

const windowMs = 60_000;
const maxKeys = 10_000;
/** A value of 43 characters carries 256 bits when it was generated: nobody guesses it. */
const minRandomTokenLength = 43;
/** Shared by whoever comes while the table is full of keys that still count: no key is forgotten to make room. */
const overflowKey = "";

/** One different value. It counts while it is being compared, and for a minute after it was found wrong. */
interface Attempt {
  comparing: number;
  /** Unix milliseconds; `undefined`: not found wrong yet. */
  wrongAt: number | undefined;
}
type AttemptsByValue = Map<string, Attempt>;

export interface LimiterOptions {
  readonly clock: Clock;
  /** 32 random bytes; the limiter keeps digests under it, never values. */
  readonly secret: Uint8Array;
  readonly attempts?: () => number;
}

export function createLimiter({ clock, secret, attempts = () => 10 }: LimiterOptions): Limiter {
  const table = new Map<string, AttemptsByValue>();
  let nextSweep = Number.NEGATIVE_INFINITY;

  /** Nobody sees one, so that there is nothing to extend: the key in front is enough, and a tenth of HMAC's time. */
  const lead = Buffer.from(secret).toString("base64");
  const digest = (value: string): string => digestOf("sha256", lead + value, "base64");

  function current(attemptsByValue: AttemptsByValue, now: number): AttemptsByValue {
    for (const [hash, one] of attemptsByValue) {
      if (one.wrongAt === undefined) continue;
      one.wrongAt = Math.min(one.wrongAt, now); // a clock set back must not block for longer
      if (one.comparing === 0 && now - one.wrongAt >= windowMs) attemptsByValue.delete(hash);
    }
    return attemptsByValue;
  }

  function sweep(now: number): void {
    if (now < nextSweep && nextSweep - now <= 1_000) return;
    nextSweep = now + 1_000;
    for (const [key, tries] of table) if (current(tries, now).size === 0) table.delete(key);
  }

  /** The tries of a key, and the key they are kept under. */
  function find(key: string): { kept: string; tries: AttemptsByValue } {
    const now = clock.now();
    const known = table.get(key);
    if (known) return { kept: key, tries: current(known, now) };
    if (table.size >= maxKeys) sweep(now);
    const kept = table.size >= maxKeys ? overflowKey : key;
    return { kept, tries: current(table.get(kept) ?? new Map<string, Attempt>(), now) };
  }

  const most = (half = false): number =>
    Math.max(1, half ? Math.floor(attempts() / 2) : attempts());
  const isFull = (attemptsByValue: AttemptsByValue, half?: boolean): boolean =>
    attemptsByValue.size >= most(half);

  function secondsLeft(attemptsByValue: AttemptsByValue, half?: boolean): number {
    if (!isFull(attemptsByValue, half)) return 0;
    const found = [...attemptsByValue.values()]
      .flatMap(({ wrongAt }) => wrongAt ?? [])
      .sort((a, b) => a - b);
    const freeing = found[attemptsByValue.size - most(half)]; // absent while the values are still being compared
    return freeing === undefined
      ? 1
      : Math.max(1, Math.ceil((freeing + windowMs - clock.now()) / 1_000));
  }

  const limited = (attemptsByValue: AttemptsByValue, half?: boolean): Verdict<never> => ({
    outcome: "limited",
    retryAfterSeconds: secondsLeft(attemptsByValue, half) || 1,
  });

  function reserve(kept: string, attemptsByValue: AttemptsByValue, hash: string): Attempt {
    const one = attemptsByValue.get(hash) ?? { comparing: 0, wrongAt: undefined };
    one.comparing += 1;
    attemptsByValue.set(hash, one);
    table.set(kept, attemptsByValue);
    return one;
  }

  /** Whether the value counts from now on and did not before. */
  function settle(
    kept: string,
    attemptsByValue: AttemptsByValue,
    hash: string,
    wrong: boolean,
  ): boolean {
    const one = attemptsByValue.get(hash);
    if (one === undefined) return false;
    const isNew = wrong && one.wrongAt === undefined;
    one.comparing -= 1;
    if (isNew) one.wrongAt = clock.now();
    if (one.comparing === 0 && one.wrongAt === undefined) attemptsByValue.delete(hash);
    if (attemptsByValue.size === 0 && table.get(kept) === attemptsByValue) table.delete(kept);
    return isNew;
  }
  const foundWrong = (attemptsByValue: AttemptsByValue, isNew: boolean): Verdict<never> => ({
    outcome: "mismatch",
    counted: attemptsByValue.size,
    ...(isNew ? {} : { again: true }),
  });

  return {
    blockedFor: (key) => secondsLeft(find(key).tries),

    async attempt(key, value, compare, { half = false } = {}) {
      const { kept, tries } = find(key);
      const hash = digest(value);
      const known = tries.get(hash);
      const isBeingCompared = known !== undefined && known.wrongAt === undefined; // its place is paid for
      if (isFull(tries, half) && !isBeingCompared) {
        const match = value.length >= minRandomTokenLength ? await compare() : false;
        return match === false ? limited(tries, half) : { outcome: "match", match };
      }
      reserve(kept, tries, hash);
      let match: Awaited<ReturnType<typeof compare>>;
      try {
        match = await compare();
      } catch (error) {
        settle(kept, tries, hash, false);
        throw error;
      }
      const isNew = settle(kept, tries, hash, match === false);
      return match === false ? foundWrong(tries, isNew) : { outcome: "match", match };
    },

    recordFailure(key, value) {
      const { kept, tries } = find(key);
      if (isFull(tries)) return limited(tries);
      const hash = digest(value);
      reserve(kept, tries, hash);
      return foundWrong(tries, settle(kept, tries, hash, true));
    },

    unblock(key) {
      if (key === undefined) table.clear();
      else table.delete(addressKey(key));
    },
  };
}
