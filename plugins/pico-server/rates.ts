/** Takes one; false when there is none left. */
export type Bucket = (now: number) => boolean;

/** So many over time, so many at once. Either 0: unlimited. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** The rate may change while the bucket lives. */
export function createBucket(rate: () => Rate, start: number): Bucket {
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

const mostKeys = 10_000;

/** A bucket for each key; beyond 10,000 the longest unused begins anew. */
export function createBuckets(rate: () => Rate): (key: string, now: number) => boolean {
  const buckets = new Map<string, Bucket>();
  return (key, now) => {
    const bucket = buckets.get(key) ?? createBucket(rate, now);
    buckets.delete(key);
    buckets.set(key, bucket);
    const [oldest] = buckets.keys();
    if (buckets.size > mostKeys && oldest !== undefined) buckets.delete(oldest);
    return bucket(now);
  };
}

/** Counts one; true when there are too many. */
export type Strikes = (now: number) => boolean;

/** Counts within a sliding window, up to `most`. */
export function createStrikes(most: number, windowMs: number): Strikes {
  let times: number[] = [];
  return (now) => {
    times = [...times.filter((at) => at <= now && now - at < windowMs), now]; // the clock may have been set back
    return times.length >= most;
  };
}
