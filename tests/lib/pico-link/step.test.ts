import { describe, expect, test } from "vitest";
import { limits } from "../../../lib/pico-link/index.ts";
import { encode } from "../../../lib/pico-wire/index.ts";
import { hello, play } from "./step-player.ts";

describe("step: failed handshakes", () => {
  test.each([
    [401, "token_malformed", /Authorization: Bearer/],
    [401, "token_query_disabled", /allow_token_query/],
    [401, "token_mismatch", /same on both sides/],
    [403, "origin_not_allowed", /allow_origins/],
    [401, undefined, /same on both sides.*Authorization: Bearer.*allow_token_query/],
  ])("%s %s twice blocks with the check to make", (status, code, check) => {
    const player = play();
    player.do({ type: "start" });
    player.fail({ status, ...(code && { code }) });
    expect(player.core().state).toBe("waiting");
    player.pass(1_000);
    player.fail({ status, ...(code && { code }) });
    expect(player.last()).toMatchObject({ to: "blocked", retryInMs: limits.blockedRetryMs });
    expect(player.last().check).toMatch(check);
  });

  test.each([
    [404, "not_found", /path/],
    [400, "bad_request", /address/],
  ])("blocks immediately after %s", (status, reason, check) => {
    const player = play();
    player.do({ type: "start" });
    player.fail({ status });
    expect(player.last()).toMatchObject({ to: "blocked", reason });
    expect(player.last().check).toMatch(check);
  });

  test("blocks after two stripped upgrades, but not after one", () => {
    const player = play();
    player.do({ type: "start" });
    player.fail({ status: 426 });
    expect(player.core().state).toBe("waiting");
    player.pass(1_000);
    player.fail({ status: 426 });
    expect(player.last()).toMatchObject({ to: "blocked", check: "Does a proxy strip Upgrade?" });
  });

  test("retries after 503 and network failures, and waits for Retry-After", () => {
    const player = play();
    player.do({ type: "start" });
    player.fail({ status: 503, code: "token_not_configured", retryAfterMs: 7_000 });
    expect(player.last()).toMatchObject({ to: "waiting", reason: "token_not_configured" });
    expect(player.last().retryInMs).toBeGreaterThanOrEqual(7_000);
    expect(player.last().retryInMs).toBeLessThan(7_600);
    player.pass(8_000);
    player.fail({});
    expect(player.last()).toMatchObject({ to: "waiting", reason: "network" });
  });

  test("times out a handshake after twenty seconds", () => {
    const player = play();
    player.do({ type: "start" });
    const before = player.core().generation;
    player.pass(limits.connectTimeoutMs);
    expect(player.last()).toMatchObject({ to: "waiting", reason: "timeout" });
    expect(player.do({ type: "opened", generation: before })).toEqual([]);
  });
});

describe("step: closed connections", () => {
  test.each([
    [1000, "normal", "closed", "normal"],
    [1008, "session_ended", "closed", "session_ended"],
    [4400, "bad_request", "closed", "bad_request"],
    [4403, "forbidden", "closed", "forbidden"],
    [4409, "replaced", "closed", "replaced"],
    [4401, "unauthorized", "blocked", "unauthorized"],
    [1001, "going_away", "waiting", "going_away"],
    [1000, "", "waiting", "close_1000"],
    [1008, "", "waiting", "close_1008"],
    [1006, "", "waiting", "network"],
    [4242, "", "waiting", "close_4242"],
    [1002, "", "waiting", "protocol_error"],
    [1003, "", "waiting", "unsupported_data"],
    [1007, "", "waiting", "invalid_data"],
    [1011, "internal", "waiting", "internal"],
    [4408, "heartbeat", "waiting", "heartbeat"],
    [4410, "slow_consumer", "waiting", "slow_consumer"],
    [1012, "token_rotated; retry=4000", "waiting", "token_rotated"],
    [1012, "restart; retry=2000", "waiting", "restart"],
    [1013, "try_later; retry=9000", "waiting", "try_later"],
    [1001, "going_away; retry=1500", "waiting", "going_away"],
    [4429, "rate_limited; retry=5000", "waiting", "rate_limited"],
  ])("%s %s: %s", (code, text, state, reason) => {
    const player = play();
    player.open();
    player.close(code, text);
    expect(player.last()).toMatchObject({ to: state, reason });
    const waits = /retry=(\d+)/.exec(text)?.[1];
    if (waits) expect(player.last().retryInMs).toBeGreaterThanOrEqual(Number(waits));
  });

  test("waits longer after each clean close without a name", () => {
    const player = play();
    player.open();
    const waits = Array.from({ length: 12 }, () => {
      player.close(1000, "");
      const { retryInMs } = player.last();
      player.pass(retryInMs!);
      player.do({ type: "opened", generation: player.core().generation });
      return retryInMs!;
    });
    expect(waits.slice(1).every((ms, at) => ms >= waits[at]!)).toBe(true);
    expect(waits[3]).toBeGreaterThan(2 * waits[0]!);
    expect(waits.at(-1)).toBeGreaterThan(10_000);
    expect(waits.at(-1)).toBeLessThanOrEqual(30_000);
  });

  test("retries slower after `going_away` than after a network failure", () => {
    const [network, away] = [1006, 1001].map((code) => {
      const player = play();
      player.open();
      player.close(code);
      return player.last().retryInMs!;
    });
    expect(away).toBeGreaterThan(2 * network!);
  });

  test("rejects the message that was too large", () => {
    const player = play();
    player.open();
    player.frame(hello());
    player.send("small", 10);
    player.send("big", 900);
    player.close(1009);
    expect(player.settled()).toEqual([{ type: "refused", id: "big", code: "too_large" }]);
    expect(player.core().outbox.map(({ id }) => id)).toEqual(["small"]);
  });
});

describe("step: failure count", () => {
  test("resets after ten seconds of a connection that received something", () => {
    const player = play();
    player.do({ type: "start" });
    player.fail({});
    player.pass(2_000);
    player.open();
    player.frame(hello());
    player.pass(limits.stableAfterMs - 1);
    expect(player.core().attempt).toBe(1);
    player.pass(1);
    expect(player.core().attempt).toBe(0);
  });

  test("stays after a connection that received nothing", () => {
    const player = play();
    player.do({ type: "start" });
    player.fail({});
    player.pass(2_000);
    player.open();
    player.pass(40_000);
    expect(player.core()).toMatchObject({ state: "open", attempt: 1 });
  });
});

describe("step: liveness", () => {
  test("pings a silent server and disconnects after its read timeout", () => {
    const player = play();
    player.open();
    player.frame(hello());
    player.pass(30_000);
    expect(player.written()).toEqual([encode({ type: "ping" })]);
    player.frame({ type: "pong" });
    player.pass(59_000);
    expect(player.core().state).toBe("open");
    player.pass(2_000);
    expect(player.notifications("onState")).toContainEqual(
      expect.objectContaining({ to: "waiting", reason: "heartbeat" }),
    );
  });

  test("keeps the read timeout of a server with frequent pings", () => {
    const player = play();
    player.open();
    player.frame(hello({ ping_interval: 1, read_timeout: 2 }));
    player.pass(limits.pongTimeoutMs);
    expect(player.core().state).toBe("open");
    player.pass(1_000);
    expect(player.notifications("onState")).toContainEqual(
      expect.objectContaining({ to: "waiting", reason: "heartbeat" }),
    );
  });

  test("pings before it disconnects after a suspension", () => {
    const player = play();
    player.open();
    player.frame(hello());
    player.sleep(600_000);
    expect(player.core().state).toBe("open");
    expect(player.written()).toEqual([encode({ type: "ping" })]);
    player.pass(limits.pongTimeoutMs - 1);
    expect(player.core().state).toBe("open");
    player.pass(60_000);
    expect(player.notifications("onState")).toContainEqual(
      expect.objectContaining({ to: "waiting", reason: "heartbeat" }),
    );
  });
});
