import { describe, expect, test } from "vitest";
import { Liveness } from "../../../../plugins/pico-server/connection/liveness.ts";

const [idleTimeoutMs, pingIntervalMs] = [60_000, 30_000];

function peer() {
  const socket = { bytesRead: 0 };
  const time = { now: 0, wokeAt: Number.NEGATIVE_INFINITY };
  const checkClock = { now: () => time.now, wokeAt: () => time.wokeAt };
  const liveness = new Liveness(socket, 0);
  const inspect = (now: number) => {
    time.now = now;
    return liveness.inspect(checkClock, idleTimeoutMs, pingIntervalMs);
  };
  const nextCheck = () => liveness.nextCheckIn(time.now, idleTimeoutMs, pingIntervalMs);
  return { socket, time, liveness, inspect, nextCheck };
}

describe("Liveness", () => {
  test("pings at the interval and reports a silent peer as dead", () => {
    const { inspect, nextCheck } = peer();
    expect([
      inspect(0),
      nextCheck(),
      inspect(30_000),
      nextCheck(),
      inspect(59_999),
      inspect(60_000),
    ]).toEqual(["healthy", 30_000, "ping_due", 30_000, "healthy", "dead"]);
  });

  test("records complete frames immediately and partial frames at the check", () => {
    const { inspect, nextCheck, liveness, socket } = peer();
    inspect(30_000);
    socket.bytesRead = 2;
    liveness.touch(30_100);
    expect([inspect(60_000), liveness.receivedAt, nextCheck()]).toEqual([
      "ping_due",
      30_100,
      30_000,
    ]);
    socket.bytesRead = 3;
    expect([inspect(89_000), liveness.receivedAt, nextCheck()]).toEqual(["healthy", 89_000, 1_000]);
  });

  test("limits a slow frame to the time its size allows", () => {
    const { inspect, socket } = peer();
    const found = Array.from({ length: 62 }, (_, second) => {
      socket.bytesRead += 1;
      return inspect(second * 1_000);
    });
    expect(found.indexOf("dead")).toBe(61);
  });

  test("gives a message no extra time for control frames", () => {
    const { inspect, liveness, socket } = peer();
    const found = Array.from({ length: 62 }, (_, second) => {
      socket.bytesRead += 6;
      liveness.touchDuringMessage(second * 1_000);
      return inspect(second * 1_000);
    });
    expect(found.indexOf("dead")).toBe(61);
  });

  test("pings once more after a suspension and waits for the response", () => {
    const { inspect, nextCheck, time, liveness, socket } = peer();
    inspect(30_000);
    time.wokeAt = 59_000;
    expect([inspect(60_000), nextCheck(), inspect(64_999), inspect(65_000)]).toEqual([
      "ping_due",
      1_000,
      "healthy",
      "dead",
    ]);
    socket.bytesRead = 2;
    liveness.touch(64_999);
    expect(inspect(65_000)).toBe("healthy");
  });
});
