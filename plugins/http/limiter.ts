/** Limits wrong tokens per client address. */
import { hash as digestOf } from "node:crypto";
import type { Awaitable, Clock, PluginShape, Scope } from "../../kernel/index.ts";
import { addressKey } from "./addresses.ts";
import type { Http, Limiter, Verdict } from "./service.ts";

const windowMs = 60_000;
const sweepIntervalMs = 1_000;
const maxKeys = 10_000;
/** A generated value of 43 characters carries 256 bits, so it cannot be guessed. */
const minRandomTokenLength = 43;
/** Shared by new addresses while the table is full of keys in use; no key is dropped for them. */
const overflowKey = "";

/** One distinct value. It counts during its comparison, and for a minute after a mismatch. */
interface Attempt {
  /** Number of comparisons in progress. */
  comparing: number;
  /** Unix milliseconds of the mismatch, or undefined. */
  wrongAt: number | undefined;
}
type AttemptsByValue = Map<string, Attempt>;

interface LimiterOptions {
  readonly clock: Clock;
  /** 32 random bytes for keyed digests: the limiter never stores values. */
  readonly secret: Uint8Array;
  /** Distinct wrong values per key and 60 s. @defaultValue 10 */
  readonly attempts?: () => number;
}

/** The attempts of a client, and the key that stores them: its own or the shared overflow key. */
interface KeyState {
  readonly storedKey: string;
  readonly attempts: AttemptsByValue;
}

export const createLimiter = (options: LimiterOptions): Limiter => new AttemptLimiter(options);

/** Creates the limiters of the plugins. */
export function createLimiters({
  clock,
  random,
}: Pick<Scope<PluginShape>, "clock" | "random">): Pick<Http, "limiter" | "unblock"> {
  const limiters: Limiter[] = [];
  return {
    limiter: ({ attempts } = {}) => {
      const secret = random(32);
      const limiter = createLimiter({ clock, secret, ...(attempts ? { attempts } : {}) });
      limiters.push(limiter);
      return limiter;
    },
    unblock: (address) => limiters.forEach((limiter) => limiter.unblock(address)),
  };
}

class AttemptLimiter implements Limiter {
  private readonly clock: Clock;
  private readonly maxAttempts: () => number;
  /** Digests never leave this object, so a prefix is enough; HMAC takes ten times as long. */
  private readonly digestPrefix: string;
  private readonly table = new Map<string, AttemptsByValue>();
  private nextSweep = Number.NEGATIVE_INFINITY;

  constructor({ clock, secret, attempts = () => 10 }: LimiterOptions) {
    this.clock = clock;
    this.maxAttempts = attempts;
    this.digestPrefix = Buffer.from(secret).toString("base64");
  }

  blockedFor(key: string): number {
    return this.secondsLeft(this.find(key).attempts);
  }

  async attempt<T>(
    key: string,
    value: string,
    compare: () => Awaitable<T | false>,
    { half = false }: { readonly half?: boolean } = {},
  ): Promise<Verdict<T>> {
    const state = this.find(key);
    const { attempts } = state;
    const hash = this.digest(value);
    const known = attempts.get(hash);
    // The value already counts while another comparison of it is in progress.
    const isBeingCompared = known !== undefined && known.wrongAt === undefined;
    if (this.isFull(attempts, half) && !isBeingCompared) {
      const match = value.length >= minRandomTokenLength ? await compare() : false;
      return match === false ? this.limited(attempts, half) : { outcome: "match", match };
    }
    this.reserve(state, hash);
    let match: T | false;
    try {
      match = await compare();
    } catch (error) {
      this.settle(state, hash, false);
      throw error;
    }
    const isNew = this.settle(state, hash, match === false);
    return match === false ? mismatch(attempts, isNew) : { outcome: "match", match };
  }

  recordFailure(key: string, value: string): Verdict<never> {
    const state = this.find(key);
    if (this.isFull(state.attempts)) return this.limited(state.attempts);
    const hash = this.digest(value);
    this.reserve(state, hash);
    return mismatch(state.attempts, this.settle(state, hash, true));
  }

  unblock(key?: string): void {
    if (key === undefined) this.table.clear();
    else this.table.delete(addressKey(key));
  }

  private digest(value: string): string {
    return digestOf("sha256", this.digestPrefix + value, "base64");
  }

  private find(key: string): KeyState {
    const { table } = this;
    const now = this.clock.now();
    const known = table.get(key);
    if (known) return { storedKey: key, attempts: removeExpired(known, now) };
    if (table.size >= maxKeys) this.sweep(now);
    const storedKey = table.size >= maxKeys ? overflowKey : key;
    const attempts = table.get(storedKey) ?? new Map<string, Attempt>();
    return { storedKey, attempts: removeExpired(attempts, now) };
  }

  private sweep(now: number): void {
    // The second condition holds after the clock was set back.
    if (now < this.nextSweep && this.nextSweep - now <= sweepIntervalMs) return;
    this.nextSweep = now + sweepIntervalMs;
    for (const [key, attempts] of this.table)
      if (removeExpired(attempts, now).size === 0) this.table.delete(key);
  }

  private limit(half = false): number {
    return Math.max(1, half ? Math.floor(this.maxAttempts() / 2) : this.maxAttempts());
  }

  private isFull(attempts: AttemptsByValue, half?: boolean): boolean {
    return attempts.size >= this.limit(half);
  }

  private secondsLeft(attempts: AttemptsByValue, half?: boolean): number {
    if (!this.isFull(attempts, half)) return 0;
    const wrongTimes = [...attempts.values()]
      .flatMap(({ wrongAt }) => wrongAt ?? [])
      .sort((a, b) => a - b);
    // Undefined while comparisons are still in progress.
    const decisive = wrongTimes[attempts.size - this.limit(half)];
    return decisive === undefined
      ? 1
      : Math.max(1, Math.ceil((decisive + windowMs - this.clock.now()) / 1_000));
  }

  private limited(attempts: AttemptsByValue, half?: boolean): Verdict<never> {
    return { outcome: "limited", retryAfterSeconds: this.secondsLeft(attempts, half) || 1 };
  }

  private reserve({ storedKey, attempts }: KeyState, hash: string): void {
    const attempt = attempts.get(hash) ?? { comparing: 0, wrongAt: undefined };
    attempt.comparing += 1;
    attempts.set(hash, attempt);
    this.table.set(storedKey, attempts);
  }

  /** @returns Whether the value has become a new wrong value. */
  private settle({ storedKey, attempts }: KeyState, hash: string, isWrong: boolean): boolean {
    const attempt = attempts.get(hash);
    if (attempt === undefined) return false;
    const isNew = isWrong && attempt.wrongAt === undefined;
    attempt.comparing -= 1;
    if (isNew) attempt.wrongAt = this.clock.now();
    if (attempt.comparing === 0 && attempt.wrongAt === undefined) attempts.delete(hash);
    if (attempts.size === 0 && this.table.get(storedKey) === attempts) this.table.delete(storedKey);
    return isNew;
  }
}

function removeExpired(attempts: AttemptsByValue, now: number): AttemptsByValue {
  for (const [hash, attempt] of attempts) {
    if (attempt.wrongAt === undefined) continue;
    // If the clock was set back, the block must not last longer.
    attempt.wrongAt = Math.min(attempt.wrongAt, now);
    if (attempt.comparing === 0 && now - attempt.wrongAt >= windowMs) attempts.delete(hash);
  }
  return attempts;
}

const mismatch = (attempts: AttemptsByValue, isNew: boolean): Verdict<never> => ({
  outcome: "mismatch",
  counted: attempts.size,
  ...(isNew ? {} : { again: true }),
});
