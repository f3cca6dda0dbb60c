// Tests the limiter of wrong tokens.
import { describe, expect, test } from "vitest";
import { createStoppedClock, type StoppedClock } from "../../../kernel/testing.ts";
import { createLimiter } from "../../../plugins/http/limiter.ts";
import type { Limiter } from "../../../plugins/http/index.ts";

const ip = "10.0.0.1";
const long = (n: number): string => `${n}`.padStart(43, "x");

interface LimiterServer {
  readonly limiter: Limiter;
  readonly clock: StoppedClock;
  guess(value: string, key?: string): Promise<string>;
}

function server(attempts = 10): LimiterServer {
  const clock = createStoppedClock();
  const limiter = createLimiter({ clock, secret: new Uint8Array(32), attempts: () => attempts });
  const guess = async (value: string, key = ip): Promise<string> =>
    (await limiter.attempt(key, value, () => (value.startsWith("right") ? { version: 1 } : false)))
      .outcome;
  return { limiter, clock, guess };
}

const tenWrong = async (
  guess: (value: string, key?: string) => Promise<string>,
  key = ip,
): Promise<void> => {
  for (let n = 0; n < 10; n += 1) expect(await guess(`wrong ${n}`, key)).toBe("mismatch");
};

describe("Limiter.attempt", () => {
  test("blocks a key after ten distinct wrong values", async () => {
    const { guess } = server();
    await tenWrong(guess);
    expect(await guess("wrong 10")).toBe("limited");
    expect(await guess("wrong 10", "10.0.0.2")).toBe("mismatch");
  });

  test("returns the count and the waiting time", async () => {
    const { limiter, clock, guess } = server(2);
    expect(await limiter.attempt(ip, "a", () => false)).toEqual({
      outcome: "mismatch",
      counted: 1,
    });
    clock.increment(20_500);
    expect(await limiter.attempt(ip, "b", () => false)).toEqual({
      outcome: "mismatch",
      counted: 2,
    });
    expect(await limiter.attempt(ip, "c", () => false)).toEqual({
      outcome: "limited",
      retryAfterSeconds: 40,
    });
    expect(limiter.blockedFor(ip)).toBe(40);
    clock.increment(39_499);
    expect(await guess("c")).toBe("limited");
    clock.increment(1);
    expect(limiter.blockedFor(ip)).toBe(0);
    expect(await guess("c")).toBe("mismatch");
    expect(limiter.blockedFor(ip)).toBe(21);
  });

  test("counts a repeated wrong value once", async () => {
    const { guess, limiter } = server();
    for (let n = 0; n < 30; n += 1) expect(await guess("a stale client")).toBe("mismatch");
    expect(await limiter.attempt(ip, "another", () => false)).toEqual({
      outcome: "mismatch",
      counted: 2,
    });
  });

  test("never extends a block by further attempts", async () => {
    const { guess, clock } = server();
    await tenWrong(guess);
    for (let second = 0; second < 59; second += 1) {
      clock.increment(1_000);
      expect(await guess(`wrong then ${second}`)).toBe("limited");
      expect(await guess(long(second))).toBe("limited");
    }
    clock.increment(1_000);
    expect(await guess("wrong at last")).toBe("mismatch");
  });

  test("keeps the count after a match", async () => {
    const { guess, limiter } = server();
    for (let n = 0; n < 20; n += 1) expect(await guess(`right ${n}`)).toBe("match");
    expect(limiter.blockedFor(ip)).toBe(0);
    for (let n = 0; n < 9; n += 1) await guess(`wrong ${n}`);
    expect(await guess("right")).toBe("match");
    expect(await limiter.attempt(ip, "wrong 9", () => false)).toEqual({
      outcome: "mismatch",
      counted: 10,
    });
  });

  test("returns the match of the comparison", async () => {
    const { limiter } = server();
    expect(await limiter.attempt(ip, "x", async () => 7)).toEqual({ outcome: "match", match: 7 });
  });

  test("counts no attempt whose comparison rejects", async () => {
    const { limiter } = server(1);
    for (let n = 0; n < 5; n += 1) {
      await expect(
        limiter.attempt(ip, `${n}`, () => Promise.reject(new Error("store"))),
      ).rejects.toThrow("store");
    }
    expect(limiter.blockedFor(ip)).toBe(0);
  });

  test("keeps a mismatch if a parallel comparison rejects", async () => {
    const { limiter } = server(1);
    let fail: (error: Error) => void = () => {};
    const failing = limiter.attempt(
      ip,
      "same",
      () => new Promise<false>((_, reject) => void (fail = reject)),
    );
    // The limit of one is reached.
    expect((await limiter.attempt(ip, "other", () => false)).outcome).toBe("limited");
    expect((await limiter.attempt(ip, "same", () => false)).outcome).toBe("mismatch");
    fail(new Error("store"));
    await expect(failing).rejects.toThrow();
    expect(limiter.blockedFor(ip)).toBe(60);
  });

  test("counts recorded failures without a comparison", () => {
    const { limiter } = server(1);
    expect(limiter.recordFailure(ip, "two tokens")).toEqual({ outcome: "mismatch", counted: 1 });
    expect(limiter.recordFailure(ip, "two tokens")).toEqual({
      outcome: "limited",
      retryAfterSeconds: 60,
    });
  });
});

describe("Limiter with a blocked key", () => {
  test("compares only values of at least 43 characters", async () => {
    const { limiter, guess } = server();
    await tenWrong(guess);
    let compared = 0;
    const compare = (): false => {
      compared += 1;
      return false;
    };
    expect((await limiter.attempt(ip, "x".repeat(42), compare)).outcome).toBe("limited");
    expect(compared).toBe(0);
    expect((await limiter.attempt(ip, "x".repeat(43), compare)).outcome).toBe("limited");
    expect(compared).toBe(1);
    expect(await guess("right".padEnd(42, "x"))).toBe("limited");
    expect(await guess("right".padEnd(43, "x"))).toBe("match");
  });

  test("unblocks one key or all keys", async () => {
    const { limiter, guess } = server();
    for (const key of [ip, "10.0.0.2", "2001:db8:0:1::/64"]) await tenWrong(guess, key);
    limiter.unblock("::ffff:10.0.0.1");
    expect([limiter.blockedFor(ip), limiter.blockedFor("10.0.0.2")]).toEqual([0, 60]);
    limiter.unblock("2001:db8:0:1:ffff::5");
    expect(limiter.blockedFor("2001:db8:0:1::/64")).toBe(0);
    limiter.unblock();
    expect(limiter.blockedFor("10.0.0.2")).toBe(0);
  });

  test("unblocks within a minute after the clock was set back", () => {
    let now = 1_000_000;
    const clock = {
      now: () => now,
      monotonic: () => 0,
      setTimeout: () => 0,
      clearTimeout: () => {},
    };
    const limiter = createLimiter({ clock, secret: new Uint8Array(32) });
    for (let n = 0; n < 10; n += 1) limiter.recordFailure(ip, `${n}`);
    now -= 900_000;
    expect(limiter.blockedFor(ip)).toBe(60);
    now += 60_000;
    expect(limiter.blockedFor(ip)).toBe(0);
  });
});

describe("Limiter with fifty parallel attempts", () => {
  test("compares ten values during a slow comparison", async () => {
    const { limiter } = server();
    let compared = 0;
    const all = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        limiter.attempt(ip, `${n}`, async () => {
          compared += 1;
          await new Promise(setImmediate);
          return false;
        }),
      ),
    );
    expect(compared).toBe(10);
    expect(all.filter(({ outcome }) => outcome === "mismatch")).toHaveLength(10);
  });

  test("accepts all attempts with the same right value", async () => {
    const { limiter } = server();
    const all = await Promise.all(
      Array.from({ length: 50 }, () =>
        limiter.attempt(ip, "right", async () => {
          await new Promise(setImmediate);
          return 1;
        }),
      ),
    );
    expect(all.every(({ outcome }) => outcome === "match")).toBe(true);
  });
});

describe("Limiter with a full table", () => {
  test("keeps all keys and counts new keys together", async () => {
    const { limiter, clock, guess } = server();
    await tenWrong(guess, "first");
    for (let n = 0; n < 9_999; n += 1) limiter.recordFailure(`key ${n}`, "x");
    expect(limiter.blockedFor("first")).toBe(60);
    for (let n = 0; n < 10; n += 1)
      expect(limiter.recordFailure(`late ${n}`, `${n}`).outcome).toBe("mismatch");
    expect(limiter.recordFailure("late 10", "10").outcome).toBe("limited");
    expect(await guess("right".padEnd(43, "x"), "late 11")).toBe("match");
    clock.increment(60_000);
    expect(limiter.recordFailure("late 10", "10")).toEqual({ outcome: "mismatch", counted: 1 });
  });
});

describe("Limiter.attempt with half", () => {
  const foreign = async (limiter: Limiter, value: string): Promise<string> =>
    (
      await limiter.attempt(ip, value, () => (value.startsWith("right") ? 1 : false), {
        half: true,
      })
    ).outcome;

  test("uses at most half of the attempts", async () => {
    const { limiter, guess } = server();
    for (let n = 0; n < 5; n += 1)
      expect(await foreign(limiter, `elsewhere ${n}`)).toBe("mismatch");
    expect(await foreign(limiter, "elsewhere 5")).toBe("limited");
    expect(await foreign(limiter, "right but short")).toBe("limited");
    expect(await foreign(limiter, `right${long(1)}`)).toBe("match");
    for (let n = 0; n < 5; n += 1) expect(await guess(`here ${n}`)).toBe("mismatch");
    expect(await guess("here 5")).toBe("limited");
  });

  test("blocks until enough attempts have left the window", async () => {
    const { limiter, clock } = server(4);
    await foreign(limiter, "a");
    clock.increment(10_000);
    await foreign(limiter, "b");
    const verdict = await limiter.attempt(ip, "c", () => false, { half: true });
    expect(verdict).toEqual({ outcome: "limited", retryAfterSeconds: 50 });
    clock.increment(50_000);
    expect(await foreign(limiter, "c")).toBe("mismatch");
  });
});
