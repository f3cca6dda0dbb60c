/** Takes one; false when there is none left. */
export type TokenBucket = (now: number) => boolean;

/** So many over time, so many at once. Either 0: unlimited. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** The rate may change while the bucket lives. */
export function createTokenBucket(rate: () => Rate, start: number): TokenBucket {
  let left = Number.POSITIVE_INFINITY;
  let at = start;
  return (now) => {
    const { perSecond, burst } = rate();
    if (perSecond === 0 || burst === 0) return true;
    left = Math.min(burst, left + (Math.max(0, now - at) / 1_000) * perSecond);
    at = now;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}

const maxKeys = 10_000;

/** A bucket for each key; beyond 10,000 the longest unused begins anew. */
export function createKeyedBuckets(rate: () => Rate): (key: string, now: number) => boolean {
  const buckets = new Map<string, TokenBucket>();
  return (key, now) => {
    const bucket = buckets.get(key) ?? createTokenBucket(rate, now);
    buckets.delete(key);
    buckets.set(key, bucket);
    const [oldest] = buckets.keys();
    if (buckets.size > maxKeys && oldest !== undefined) buckets.delete(oldest);
    return bucket(now);
  };
}

/** Counts one; true when there are too many. */
export type StrikeCounter = (now: number) => boolean;

/** Counts within a sliding window, up to `most`. */
export function createStrikeCounter(most: number, windowMs: number): StrikeCounter {
  let times: number[] = [];
  return (now) => {
    times = [...times.filter((at) => at <= now && now - at < windowMs), now]; // the clock may have been set back
    return times.length >= most;
  };
}
