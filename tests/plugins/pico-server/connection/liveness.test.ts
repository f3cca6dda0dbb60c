import { describe, expect, test } from "vitest";
import { Liveness } from "../../../../plugins/pico-server/connection/liveness.ts";

const [patienceMs, askEveryMs] = [60_000, 30_000];

function peer() {
  const socket = { bytesRead: 0 };
  const time = { now: 0, wokeAt: Number.NEGATIVE_INFINITY };
  const awake = { now: () => time.now, wokeAt: () => time.wokeAt };
  const liveness = new Liveness(socket, 0);
  const look = (now: number) => {
    time.now = now;
    return liveness.inspect(awake, patienceMs, askEveryMs);
  };
  const rest = () => liveness.nextCheckIn(time.now, patienceMs, askEveryMs);
  return { socket, time, pulse: liveness, look, rest };
}

describe("the signs of life of a peer", () => {
  test("it is asked now and then, and silent when it says nothing for as long as it may", () => {
    const { look, rest } = peer();
    expect([look(0), rest(), look(30_000), rest(), look(59_999), look(60_000)]).toEqual([
      "well",
      30_000,
      "ask",
      30_000,
      "well",
      "silent",
    ]);
  });

  test("a whole frame is heard at once, bytes of one when they are looked for", () => {
    const { look, rest, pulse, socket } = peer();
    look(30_000);
    socket.bytesRead = 2;
    pulse.touch(30_100);
    expect([look(60_000), pulse.heardAt, rest()]).toEqual(["ask", 30_100, 30_000]);
    socket.bytesRead = 3;
    expect([look(89_000), pulse.heardAt, rest()]).toEqual(["well", 89_000, 1_000]);
  });

  test("single bytes of a frame keep it for no longer than its size allows", () => {
    const { look, socket } = peer();
    const found = Array.from({ length: 62 }, (_, second) => {
      socket.bytesRead += 1;
      return look(second * 1_000);
    });
    expect(found.indexOf("silent")).toBe(61);
  });

  test("control frames within a message give it no more time", () => {
    const { look, pulse, socket } = peer();
    const found = Array.from({ length: 62 }, (_, second) => {
      socket.bytesRead += 6;
      pulse.heard(second * 1_000);
      return look(second * 1_000);
    });
    expect(found.indexOf("silent")).toBe(61);
  });

  test("who was last heard before this process slept is asked once more, and has time to answer", () => {
    const { look, rest, time, pulse, socket } = peer();
    look(30_000);
    time.wokeAt = 59_000;
    expect([look(60_000), rest(), look(64_999), look(65_000)]).toEqual([
      "ask",
      1_000,
      "well",
      "silent",
    ]);
    socket.bytesRead = 2;
    pulse.touch(64_999);
    expect(look(65_000)).toBe("well");
  });
});
