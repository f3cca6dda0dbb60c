// Tests the limiter of log lines.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createCapturedLog, createStoppedClock } from "../../../kernel/testing.ts";
import { createLogLimiter } from "../../../plugins/http/log-limiter.ts";

const fault = (address: string, reason = "origin_not_allowed") => ({
  reason,
  address,
  text: "refused",
});

function setUp() {
  const clock = createStoppedClock();
  const { log, lines } = createCapturedLog();
  const limiter = createLogLimiter(clock);
  return {
    clock,
    lines,
    limiter,
    note: (...args: Parameters<typeof fault>) => limiter.note(log, fault(...args)),
  };
}

describe("createLogLimiter", () => {
  test("writes one line per address, reason and minute", () => {
    const { clock, lines, note } = setUp();
    for (let n = 0; n < 50; n += 1) note("192.0.2.1");
    note("192.0.2.2");
    note("192.0.2.1", "host_not_allowed");
    expect(lines).toEqual([
      { level: "warn", text: "refused", reason: "origin_not_allowed", ip: "192.0.2.1" },
      { level: "warn", text: "refused", reason: "origin_not_allowed", ip: "192.0.2.2" },
      { level: "warn", text: "refused", reason: "host_not_allowed", ip: "192.0.2.1" },
    ]);
    clock.increment(60_000);
    expect(lines.slice(3)).toEqual([
      expect.objectContaining({ reason: "origin_not_allowed", ip: "192.0.2.1", repeated: 49 }),
    ]);
    clock.increment(600_000);
    expect(lines).toHaveLength(4);
    note("192.0.2.1");
    expect(lines).toHaveLength(5);
  });

  test("counts the addresses of one IPv6 /64 as one", () => {
    const { lines, note } = setUp();
    note("2001:db8::1");
    note("2001:db8::2");
    expect(lines).toHaveLength(1);
  });

  test("writes the remaining counts when it stops", () => {
    const { lines, limiter, note } = setUp();
    note("192.0.2.1");
    note("192.0.2.1");
    limiter.stop();
    expect(lines.map((line) => line["repeated"])).toEqual([undefined, 1]);
  });

  test("counts every fault and writes at most 102 lines a minute", () => {
    const step = fc.record({ host: fc.nat(400), times: fc.integer({ min: 1, max: 5 }) });
    const minutes = fc.array(fc.array(step, { maxLength: 300 }), { maxLength: 4 });
    fc.assert(
      fc.property(minutes, (all) => {
        const { clock, lines, limiter, note } = setUp();
        let noted = 0;
        for (const minute of all) {
          const before = lines.length;
          for (const { host, times } of minute) {
            for (let n = 0; n < times; n += 1) note(`10.0.${host >> 8}.${host & 255}`);
            noted += times;
          }
          expect(lines.length - before).toBeLessThanOrEqual(101);
          clock.increment(60_000);
          expect(lines.length - before).toBeLessThanOrEqual(202);
        }
        limiter.stop();
        const told = lines.reduce((sum, line) => sum + (Number(line["repeated"] ?? 0) || 1), 0);
        expect(told).toBe(noted);
        expect(limiter.counts()["origin_not_allowed"] ?? 0).toBe(noted);
      }),
    );
  });
});
