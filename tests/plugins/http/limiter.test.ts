import { describe, expect, test } from "vitest";
import { createStoppedClock, type StoppedClock } from "../../../kernel/testing.ts";
import { createLimiter } from "../../../plugins/http/limiter.ts";
import type { Limiter } from "../../../plugins/http/index.ts";

const ip = "10.0.0.1";
const long = (n: number): string => `${n}`.padStart(43, "x");

interface Stand {
  readonly limiter: Limiter;
  readonly clock: StoppedClock;
  guess(value: string, key?: string): Promise<string>;
}

function stand(attempts = 10): Stand {
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

describe("a key", () => {
  test("is blocked after ten different wrong values, others are not", async () => {
    const { guess } = stand();
    await tenWrong(guess);
    expect(await guess("wrong 10")).toBe("limited");
    expect(await guess("wrong 10", "10.0.0.2")).toBe("mismatch");
  });

  test("is told how many count, and how long to wait", async () => {
    const { limiter, clock, guess } = stand(2);
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

  test("pays nothing for the same wrong value again", async () => {
    const { guess, limiter } = stand();
    for (let n = 0; n < 30; n += 1) expect(await guess("a stale client")).toBe("mismatch");
    expect(await limiter.attempt(ip, "another", () => false)).toEqual({
      outcome: "mismatch",
      counted: 2,
    });
  });

  test("is not blocked for longer by tries while it is blocked", async () => {
    const { guess, clock } = stand();
    await tenWrong(guess);
    for (let second = 0; second < 59; second += 1) {
      clock.increment(1_000);
      expect(await guess(`wrong then ${second}`)).toBe("limited");
      expect(await guess(long(second))).toBe("limited");
    }
    clock.increment(1_000);
    expect(await guess("wrong at last")).toBe("mismatch");
  });

  test("pays nothing for a right value, and a right value clears nothing", async () => {
    const { guess, limiter } = stand();
    for (let n = 0; n < 20; n += 1) expect(await guess(`right ${n}`)).toBe("match");
    expect(limiter.blockedFor(ip)).toBe(0);
    for (let n = 0; n < 9; n += 1) await guess(`wrong ${n}`);
    expect(await guess("right")).toBe("match");
    expect(await limiter.attempt(ip, "wrong 9", () => false)).toEqual({
      outcome: "mismatch",
      counted: 10,
    });
  });

  test("gets the match of its comparison", async () => {
    const { limiter } = stand();
    expect(await limiter.attempt(ip, "x", async () => 7)).toEqual({ outcome: "match", match: 7 });
  });

  test("pays nothing for a comparison that failed, and hears of the failure", async () => {
    const { limiter } = stand(1);
    for (let n = 0; n < 5; n += 1) {
      await expect(
        limiter.attempt(ip, `${n}`, () => Promise.reject(new Error("store"))),
      ).rejects.toThrow("store");
    }
    expect(limiter.blockedFor(ip)).toBe(0);
  });

  test("a failed comparison gives nothing back that another one found wrong", async () => {
    const { limiter } = stand(1);
    let fail: (error: Error) => void = () => {};
    const failing = limiter.attempt(
      ip,
      "same",
      () => new Promise<false>((_, reject) => void (fail = reject)),
    );
    expect((await limiter.attempt(ip, "other", () => false)).outcome).toBe("limited"); // the one place is taken
    expect((await limiter.attempt(ip, "same", () => false)).outcome).toBe("mismatch");
    fail(new Error("store"));
    await expect(failing).rejects.toThrow();
    expect(limiter.blockedFor(ip)).toBe(60);
  });

  test("counts what was wrong without a comparison", () => {
    const { limiter } = stand(1);
    expect(limiter.recordFailure(ip, "two tokens")).toEqual({ outcome: "mismatch", counted: 1 });
    expect(limiter.recordFailure(ip, "two tokens")).toEqual({
      outcome: "limited",
      retryAfterSeconds: 60,
    });
  });
});

describe("a blocked key", () => {
  test("has no short value compared; a right one of 43 characters passes", async () => {
    const { limiter, guess } = stand();
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

  test("is freed by its owner, alone or with all others", async () => {
    const { limiter, guess } = stand();
    for (const key of [ip, "10.0.0.2", "2001:db8:0:1::/64"]) await tenWrong(guess, key);
    limiter.unblock("::ffff:10.0.0.1");
    expect([limiter.blockedFor(ip), limiter.blockedFor("10.0.0.2")]).toEqual([0, 60]);
    limiter.unblock("2001:db8:0:1:ffff::5");
    expect(limiter.blockedFor("2001:db8:0:1::/64")).toBe(0);
    limiter.unblock();
    expect(limiter.blockedFor("10.0.0.2")).toBe(0);
  });

  test("stays blocked for no more than a minute when the clock is set back", () => {
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

describe("fifty guesses at once", () => {
  test("against a slow comparison: ten are compared", async () => {
    const { limiter } = stand();
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

  test("of the same right value: all pass", async () => {
    const { limiter } = stand();
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

describe("ten thousand keys", () => {
  test("none is forgotten for a fresh one: those that come later share one count", async () => {
    const { limiter, clock, guess } = stand();
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

describe("what another site may have sent", () => {
  const foreign = async (limiter: Limiter, value: string): Promise<string> =>
    (
      await limiter.attempt(ip, value, () => (value.startsWith("right") ? 1 : false), {
        half: true,
      })
    ).outcome;

  test("spends half of the tries and no more; ten values in all, as ever", async () => {
    const { limiter, guess } = stand();
    for (let n = 0; n < 5; n += 1)
      expect(await foreign(limiter, `elsewhere ${n}`)).toBe("mismatch");
    expect(await foreign(limiter, "elsewhere 5")).toBe("limited");
    expect(await foreign(limiter, "right but short")).toBe("limited");
    expect(await foreign(limiter, `right${long(1)}`)).toBe("match");
    for (let n = 0; n < 5; n += 1) expect(await guess(`here ${n}`)).toBe("mismatch");
    expect(await guess("here 5")).toBe("limited");
  });

  test("waits until enough of the tries have left the window", async () => {
    const { limiter, clock } = stand(4);
    await foreign(limiter, "a");
    clock.increment(10_000);
    await foreign(limiter, "b");
    const verdict = await limiter.attempt(ip, "c", () => false, { half: true });
    expect(verdict).toEqual({ outcome: "limited", retryAfterSeconds: 50 });
    clock.increment(50_000);
    expect(await foreign(limiter, "c")).toBe("mismatch");
  });
});
