// Token buckets for message rates, and a counter of offences within a sliding window.
import { BoundedMap } from "../../../lib/util.ts";
import type { PicoServerConfig } from "../config.ts";

/** Takes one token. Returns false when the bucket is empty. */
export type TokenBucket = (now: number) => boolean;

/** A sustained rate and a burst. If either is 0, there is no limit. */
type RateSettings = Pick<PicoServerConfig, "message_rate" | "message_burst">;

/** The rate may change at any time: the bucket reads it on every call. */
export function createTokenBucket(config: () => RateSettings, start: number): TokenBucket {
  let left = Number.POSITIVE_INFINITY;
  let at = start;
  return (now) => {
    const { message_rate: perSecond, message_burst: burst } = config();
    if (perSecond === 0 || burst === 0) return true;
    left = Math.min(burst, left + (Math.max(0, now - at) / 1_000) * perSecond);
    at = now;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}

const maxKeys = 10_000;

/**
 * Keeps one bucket per key, at most 10,000. Beyond that, the least recently used key starts again
 * with a full bucket.
 */
export function createKeyedBuckets(
  config: () => RateSettings,
): (key: string, now: number) => boolean {
  const buckets = new BoundedMap<string, TokenBucket>(maxKeys);
  return (key, now) => {
    const bucket = buckets.get(key) ?? createTokenBucket(config, now);
    buckets.renew(key, bucket);
    return bucket(now);
  };
}

/** Counts one offence. Returns true when the limit is reached. */
export type StrikeCounter = (now: number) => boolean;

/** Counts within a sliding window. */
export function createStrikeCounter(max: number, windowMs: number): StrikeCounter {
  let times: number[] = [];
  return (now) => {
    // the clock may have been set back
    times = [...times.filter((at) => at <= now && now - at < windowMs), now];
    return times.length >= max;
  };
}
