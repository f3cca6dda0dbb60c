import { describe, expect, test } from "vitest";
import {
  bounds,
  initialData,
  nextAt,
  step,
  timing,
  type LinkData,
  type Effect,
  type LinkChange,
  type LinkEvent,
  type LinkNotifications,
} from "../../../lib/pico-link/index.ts";
import { encode, type Hello, type ServerFrame } from "../../../lib/pico-wire/index.ts";

/** Plays events at times and keeps what came of them. */
function play() {
  let linkData: LinkData = initialData;
  let now = 1_000_000;
  const all: Effect[] = [];
  const stand = {
    core: () => linkData,
    do(event: LinkEvent, random = 0.5) {
      const [after, effects] = step(linkData, event, { now, random });
      linkData = after;
      all.push(...effects);
      return effects;
    },
    /** Lets time pass, ticking whenever the link asked for it. */
    pass(ms: number) {
      const end = now + ms;
      for (let at = nextAt(linkData); at <= end; at = nextAt(linkData)) {
        now = Math.max(now, at);
        stand.do({ type: "tick" });
      }
      now = end;
    },
    /** The process sleeps: one tick, late. */
    sleep(ms: number) {
      now += ms;
      return stand.do({ type: "tick" });
    },
    open() {
      if (linkData.state === "idle") stand.do({ type: "start" });
      stand.do({ type: "opened", generation: linkData.generation });
    },
    frame: (frame: ServerFrame | undefined) =>
      stand.do({ type: "frame", generation: linkData.generation, frame }),
    close: (code: number, reason = "") =>
      stand.do({ type: "closed", generation: linkData.generation, code, reason }),
    fail: (refusal: { status?: number; code?: string; retryAfterMs?: number }) =>
      stand.do({ type: "failed", generation: linkData.generation, ...refusal }),
    send: (id: string, bytes = 10) => stand.do({ type: "send", id, text: id, bytes }),
    notifications: <K extends keyof LinkNotifications>(handler: K): LinkNotifications[K][] =>
      all.flatMap((effect) =>
        effect.type === "notify" && effect.handler === handler
          ? [effect.payload as LinkNotifications[K]]
          : [],
      ),
    written: () => all.flatMap((effect) => (effect.type === "write" ? [effect.text] : [])),
    told: () => all.filter((effect) => effect.type === "confirmed" || effect.type === "refused"),
    last: (): LinkChange => stand.notifications("onState").at(-1)!,
  };
  return stand;
}

const greeting: Hello = {
  version: 1,
  conn_id: "conn",
  session_id: "s",
  epoch: "e",
  seq: 0,
  resumed: false,
  replay: 0,
  gap: false,
  ping_interval: 30,
  read_timeout: 60,
  max_payload: 1_000,
  window: { frames: 256, bytes: 1, ttl_s: 300 },
  retry: { min: 500, max: 30_000 },
};
const hello = (change: Partial<Hello> = {}): ServerFrame => ({
  type: "hello",
  payload: { ...greeting, ...change },
});
const create = (message_id: string, content: string, rest: object = {}): ServerFrame => ({
  type: "message.create",
  payload: { message_id, content, ...rest },
});
const update = (message_id: string, content: string, rest: object = {}): ServerFrame => ({
  type: "message.update",
  payload: { message_id, content, ...rest },
});
const numbered = (seq: number, epoch = "e"): ServerFrame =>
  ({ ...create(`m${seq}`, `${seq}`, { final: true }), seq, epoch }) as ServerFrame;

describe("a refused handshake", () => {
  test.each([
    [401, "token_malformed", /Authorization: Bearer/],
    [401, "token_query_disabled", /allow_token_query/],
    [401, "token_mismatch", /same on both sides/],
    [403, "origin_not_allowed", /allow_origins/],
    [401, undefined, /same on both sides.*Authorization: Bearer.*allow_token_query/],
  ])("%s %s twice blocks with the check to make", (status, code, check) => {
    const stand = play();
    stand.do({ type: "start" });
    stand.fail({ status, ...(code && { code }) });
    expect(stand.core().state).toBe("waiting");
    stand.pass(1_000);
    stand.fail({ status, ...(code && { code }) });
    expect(stand.last()).toMatchObject({ to: "blocked", retryInMs: timing.blockedRetryMs });
    expect(stand.last().check).toMatch(check);
  });

  test.each([
    [404, "not_found", /path/],
    [400, "bad_request", /address/],
  ])("%s blocks at once", (status, reason, check) => {
    const stand = play();
    stand.do({ type: "start" });
    stand.fail({ status });
    expect(stand.last()).toMatchObject({ to: "blocked", reason });
    expect(stand.last().check).toMatch(check);
  });

  test("an upgrade that is stripped twice blocks, once may be chance", () => {
    const stand = play();
    stand.do({ type: "start" });
    stand.fail({ status: 426 });
    expect(stand.core().state).toBe("waiting");
    stand.pass(1_000);
    stand.fail({ status: 426 });
    expect(stand.last()).toMatchObject({ to: "blocked", check: "Does a proxy strip Upgrade?" });
  });

  test("503 and a dead network are tried again, Retry-After is kept to", () => {
    const stand = play();
    stand.do({ type: "start" });
    stand.fail({ status: 503, code: "token_not_configured", retryAfterMs: 7_000 });
    expect(stand.last()).toMatchObject({ to: "waiting", reason: "token_not_configured" });
    expect(stand.last().retryInMs).toBeGreaterThanOrEqual(7_000);
    expect(stand.last().retryInMs).toBeLessThan(7_600);
    stand.pass(8_000);
    stand.fail({});
    expect(stand.last()).toMatchObject({ to: "waiting", reason: "network" });
  });

  test("a handshake without an end is given up after twenty seconds", () => {
    const stand = play();
    stand.do({ type: "start" });
    const before = stand.core().generation;
    stand.pass(timing.connectTimeoutMs);
    expect(stand.last()).toMatchObject({ to: "waiting", reason: "timeout" });
    expect(stand.do({ type: "opened", generation: before })).toEqual([]);
  });
});

describe("a close", () => {
  test.each([
    [1000, "normal", "stopped", "normal"],
    [1008, "session_ended", "stopped", "session_ended"],
    [4400, "bad_request", "stopped", "bad_request"],
    [4403, "forbidden", "stopped", "forbidden"],
    [4409, "replaced", "stopped", "replaced"],
    [4401, "unauthorized", "blocked", "unauthorized"],
    [1001, "going_away", "waiting", "going_away"],
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
    const stand = play();
    stand.open();
    stand.close(code, text);
    expect(stand.last()).toMatchObject({ to: state, reason });
    const waits = /retry=(\d+)/.exec(text)?.[1];
    if (waits) expect(stand.last().retryInMs).toBeGreaterThanOrEqual(Number(waits));
  });

  test("of a server that goes away is followed by a slower try than one of the network", () => {
    const [network, away] = [1006, 1001].map((code) => {
      const stand = play();
      stand.open();
      stand.close(code);
      return stand.last().retryInMs!;
    });
    expect(away).toBeGreaterThan(2 * network!);
  });

  test("over a message that was too big gives that one back", () => {
    const stand = play();
    stand.open();
    stand.frame(hello());
    stand.send("small", 10);
    stand.send("big", 900);
    stand.close(1009);
    expect(stand.told()).toEqual([{ type: "refused", id: "big", code: "too_large" }]);
    expect(stand.core().outbox.map(({ id }) => id)).toEqual(["small"]);
  });
});

describe("failures", () => {
  test("are forgotten after ten seconds of a connection over which something came", () => {
    const stand = play();
    stand.do({ type: "start" });
    stand.fail({});
    stand.pass(2_000);
    stand.open();
    stand.frame(hello());
    stand.pass(timing.stableAfterMs - 1);
    expect(stand.core().attempt).toBe(1);
    stand.pass(1);
    expect(stand.core().attempt).toBe(0);
  });

  test("are remembered by a connection over which nothing came", () => {
    const stand = play();
    stand.do({ type: "start" });
    stand.fail({});
    stand.pass(2_000);
    stand.open();
    stand.pass(40_000);
    expect(stand.core()).toMatchObject({ state: "open", attempt: 1 });
  });
});

describe("life", () => {
  test("a silent server is pinged, and given up after its read timeout", () => {
    const stand = play();
    stand.open();
    stand.frame(hello());
    stand.pass(30_000);
    expect(stand.written()).toEqual([encode({ type: "ping" })]);
    stand.frame({ type: "pong" });
    stand.pass(59_000);
    expect(stand.core().state).toBe("open");
    stand.pass(2_000);
    expect(stand.notifications("onState")).toContainEqual(
      expect.objectContaining({ to: "waiting", reason: "heartbeat" }),
    );
  });

  test("a server that wants to be pinged often is given up no later", () => {
    const stand = play();
    stand.open();
    stand.frame(hello({ ping_interval: 1, read_timeout: 2 }));
    stand.pass(timing.pongTimeoutMs);
    expect(stand.core().state).toBe("open");
    stand.pass(1_000);
    expect(stand.notifications("onState")).toContainEqual(
      expect.objectContaining({ to: "waiting", reason: "heartbeat" }),
    );
  });

  test("a process that slept asks before it gives up", () => {
    const stand = play();
    stand.open();
    stand.frame(hello());
    stand.sleep(600_000);
    expect(stand.core().state).toBe("open");
    expect(stand.written()).toEqual([encode({ type: "ping" })]);
    stand.pass(timing.pongTimeoutMs - 1);
    expect(stand.core().state).toBe("open");
    stand.pass(60_000);
    expect(stand.notifications("onState")).toContainEqual(
      expect.objectContaining({ to: "waiting", reason: "heartbeat" }),
    );
  });
});

describe("a server of the original kind", () => {
  test("gets what was sent once, and its word that it left is all there is to know", () => {
    const stand = play();
    stand.open();
    stand.send("a");
    stand.pass(timing.helloTimeoutMs);
    expect(stand.told()).toEqual([]);
    stand.do({ type: "flushed", generation: stand.core().generation });
    expect(stand.told()).toEqual([{ type: "confirmed", id: "a", status: "written" }]);
    expect(stand.written()).toEqual(["a"]);
  });

  test("gets one message at a time, and the next when that has left", () => {
    const stand = play();
    stand.open();
    for (const id of ["a", "b", "c"]) stand.send(id);
    expect(stand.written()).toEqual(["a"]);
    stand.frame({ type: "typing.start" });
    stand.do({ type: "flushed", generation: stand.core().generation });
    expect(stand.written()).toEqual(["a", "b"]);
    expect(nextAt(stand.core())).toBeGreaterThan(1_000_000);
  });

  test("stays known as such on the next connection, until it says hello", () => {
    const stand = play();
    stand.open();
    stand.frame({ type: "typing.start" });
    stand.close(1006);
    stand.pass(2_000);
    stand.open();
    expect(stand.core().connection).toMatchObject({ mode: "plain" });
    stand.frame(hello());
    stand.close(1006);
    stand.pass(2_000);
    stand.open();
    expect(stand.core().connection?.mode).toBeUndefined();
  });

  test("is known by its silence over several short connections", () => {
    const stand = play();
    for (let n = 0; n < 3; n++) {
      stand.open();
      stand.pass(timing.helloTimeoutMs / 2 - 1);
      stand.close(1006);
      stand.pass(5_000);
    }
    stand.open();
    stand.pass(1);
    expect(stand.core().isPlain).toBe(true);
  });

  test("completes a message with the next one, its context_usage or typing.stop", () => {
    const stand = play();
    stand.open();
    stand.frame(create("1", "one"));
    stand.frame(create("2", "thinking", { kind: "thought" }));
    expect(stand.notifications("onMessage")).toEqual([]);
    stand.frame(create("3", "two"));
    expect(stand.notifications("onMessage").map(({ content }) => content)).toEqual(["one"]);
    stand.frame(update("3", "two!", { context_usage: { used_tokens: 1 } }));
    stand.frame(create("4", "three"));
    stand.frame({ type: "typing.stop" });
    expect(
      stand.notifications("onMessage").map(({ content, assumed }) => [content, assumed]),
    ).toEqual([
      ["one", undefined],
      ["two!", undefined],
      ["three", undefined],
    ]);
  });

  test("updates of a complete message do not repeat onMessage, a new create does", () => {
    const stand = play();
    stand.open();
    stand.frame(create("1", "half"));
    stand.pass(timing.messageIdleMs);
    expect(stand.notifications("onMessage")).toMatchObject([{ content: "half", assumed: true }]);
    stand.frame(update("1", "half and half"));
    stand.frame({ type: "typing.stop" });
    expect(stand.notifications("onMessage").length).toBe(1);
    expect(stand.notifications("onUpdate").at(-1)).toMatchObject({
      content: "half and half",
      final: true,
    });
    stand.frame(create("1", "again"));
    stand.frame({ type: "typing.stop" });
    expect(stand.notifications("onMessage").map(({ content }) => content)).toEqual([
      "half",
      "again",
    ]);
  });

  test("its answers are whole after typing.stop, and assumed to be after the silence", () => {
    const stand = play();
    stand.open();
    stand.frame(create("1", "He"));
    stand.frame(update("1", "Hello"));
    expect(stand.notifications("onMessage")).toEqual([]);
    stand.frame({ type: "typing.stop" });
    stand.frame(create("2", "there"));
    stand.pass(timing.messageIdleMs - 1);
    expect(stand.notifications("onMessage").map(({ content }) => content)).toEqual(["Hello"]);
    stand.pass(1);
    expect(stand.notifications("onMessage").map(({ content }) => content)).toEqual([
      "Hello",
      "there",
    ]);
    expect(stand.notifications("onUpdate").map(({ content }) => content)).toEqual([
      "He",
      "Hello",
      "Hello",
      "there",
      "there",
    ]);
  });

  test("placeholders, thoughts and tool calls are no answers, but what replaces a placeholder is", () => {
    const stand = play();
    stand.open();
    stand.frame(create("1", "…", { placeholder: true }));
    stand.frame(create("2", "hm", { kind: "thought", thought: true }));
    stand.frame(create("3", "", { kind: "tool_calls" }));
    stand.frame(update("1", "the answer"));
    stand.frame({ type: "typing.stop" });
    expect(stand.notifications("onMessage").map(({ content }) => content)).toEqual(["the answer"]);
    expect(stand.notifications("onFrame").length).toBe(5);
  });

  test("messages without an id are whole at once and differ from each other; seconds become milliseconds", () => {
    const stand = play();
    stand.open();
    stand.frame({ ...create("", "a"), timestamp: 1_700_000_000 });
    stand.pass(1);
    stand.frame({ ...create("", "b"), timestamp: 1_700_000_000_123 });
    const [a, b] = stand.notifications("onMessage");
    expect([a!.content, b!.content, a!.at, b!.at]).toEqual([
      "a",
      "b",
      1_700_000_000_000,
      1_700_000_000_123,
    ]);
    expect(a!.id).not.toBe(b!.id);
  });

  test("typing is not repeated to a server that does not know it", () => {
    const stand = play();
    stand.open();
    stand.do({ type: "typing", on: true });
    stand.frame({ type: "error", payload: { code: "unknown_type", message: "?" } });
    stand.do({ type: "typing", on: false });
    expect(stand.written()).toEqual([encode({ type: "typing.start" })]);
    expect(stand.notifications("onError")).toEqual([]);
  });

  test("frames of kinds from the future are life and nothing else", () => {
    const stand = play();
    stand.open();
    stand.frame(undefined);
    expect(stand.core()).toMatchObject({ state: "open", connection: { mode: "plain" } });
    expect(stand.notifications("onFrame")).toEqual([]);
  });
});

describe("extension 1", () => {
  const open = (change: Partial<Hello> = {}) => {
    const stand = play();
    stand.open();
    stand.frame(hello(change));
    return stand;
  };

  test("a message is delivered when the application has it, not before", () => {
    const stand = open();
    stand.send("a");
    stand.do({ type: "flushed", generation: stand.core().generation });
    expect(stand.told()).toEqual([]);
    stand.frame({ type: "message.ack", payload: { request_id: "a", status: "accepted" } });
    expect(stand.told()).toContainEqual({ type: "confirmed", id: "a", status: "delivered" });
  });

  test("what the server refuses is given back with its reason", () => {
    const stand = open();
    stand.send("a");
    stand.frame({
      type: "error",
      payload: { code: "no_application", message: "Nobody.", request_id: "a" },
    });
    expect(stand.told()).toEqual([
      { type: "refused", id: "a", code: "no_application", message: "Nobody." },
    ]);
  });

  test("a server that is busy gets the message again on the next connection", () => {
    const stand = open();
    stand.send("a");
    stand.frame({ type: "error", payload: { code: "busy", message: "", request_id: "a" } });
    expect(stand.core().state).toBe("waiting");
    stand.pass(1_000);
    stand.open();
    expect(stand.written()).toEqual(["a", "a"]);
    expect(stand.told()).toEqual([]);
  });

  test("a message over the server's max_payload is refused at once", () => {
    const stand = open();
    stand.send("a", 1_001);
    expect(stand.told()).toEqual([{ type: "refused", id: "a", code: "too_large" }]);
  });

  test("acknowledges each thirty-two frames, else once a second", () => {
    const stand = open();
    for (let seq = 1; seq <= bounds.maxUnackedFrames - 1; seq++) stand.frame(numbered(seq));
    expect(stand.written()).toEqual([]);
    stand.frame(numbered(bounds.maxUnackedFrames));
    expect(stand.written()).toEqual([encode({ type: "ack", payload: { seq: 32 } })]);
    stand.frame(numbered(33));
    stand.pass(timing.ackDelayMs);
    expect(stand.written().at(-1)).toBe(encode({ type: "ack", payload: { seq: 33 } }));
  });

  test("acknowledges at its stop what it has, so that the next process of the conversation does not hear it again", () => {
    const stand = open();
    stand.frame(numbered(1));
    const effects = stand.do({ type: "stop" });
    expect(effects.slice(0, 2)).toEqual([
      { type: "write", text: encode({ type: "ack", payload: { seq: 1 } }) },
      { type: "drop" },
    ]);
    expect(stand.do({ type: "stop" })).toEqual([]);
  });

  test("resumes where it stands, as who it was", () => {
    const stand = open();
    stand.frame(numbered(1));
    stand.close(1006);
    stand.pass(2_000);
    const { generation } = stand.core();
    expect(generation).toBeGreaterThan(1);
    stand.open();
    stand.frame(hello({ seq: 3, resumed: true, replay: 2 }));
    for (const seq of [1, 2, 3]) stand.frame(numbered(seq));
    expect(stand.notifications("onMessage").map(({ content }) => content)).toEqual(["1", "2", "3"]);
    expect(stand.notifications("onGap")).toEqual([]);
  });

  test("a server that began anew and does not say so, or has no extension any more, is a gap", () => {
    for (const frame of [hello({ epoch: "other", seq: 9 }), create("x", "plain")]) {
      const stand = open();
      stand.frame(numbered(1));
      stand.close(1006);
      stand.pass(2_000);
      stand.open();
      stand.frame(frame);
      expect(stand.notifications("onGap")).toEqual([{ reason: "epoch_changed" }]);
    }
  });

  test("an epoch that ends under a connection is one gap", () => {
    for (const announces of [true, false]) {
      const stand = open();
      stand.frame(numbered(1));
      if (announces) stand.frame({ type: "gap", payload: { reason: "epoch_changed" } });
      stand.frame(numbered(1, "other"));
      expect(stand.notifications("onGap")).toEqual([{ reason: "epoch_changed" }]);
      expect(stand.notifications("onMessage").length).toBe(2);
    }
  });

  test("a hole is asked for once, and is a gap when the server has nothing better", () => {
    const stand = open();
    stand.frame(numbered(1));
    stand.frame(numbered(4));
    expect(stand.last()).toMatchObject({ to: "waiting", reason: "hole" });
    stand.pass(2_000);
    stand.open();
    stand.frame(hello({ seq: 4, resumed: true, replay: 3 }));
    stand.frame(numbered(4));
    expect(stand.notifications("onGap")).toEqual([{ from: 2, to: 3, reason: "missing" }]);
    expect(stand.notifications("onMessage").map(({ content }) => content)).toEqual(["1", "4"]);
  });

  test("an answer in pieces is whole with its final update and not before", () => {
    const stand = open();
    stand.frame({ ...create("1", "a"), seq: 1, epoch: "e" } as ServerFrame);
    stand.frame({ type: "typing.stop" });
    stand.pass(20_000);
    expect(stand.notifications("onMessage")).toEqual([]);
    stand.frame({ ...update("1", "a b", { final: true }), seq: 2, epoch: "e" } as ServerFrame);
    expect(stand.notifications("onMessage")).toMatchObject([
      { id: "1", content: "a b", final: true },
    ]);
  });

  test("times that no timer counts are cut: it comes back, and asks for a sign of life", () => {
    const stand = open({
      retry: { min: 1e12, max: 1e15 },
      ping_interval: 1e12,
      read_timeout: 1e12,
    });
    expect(nextAt(stand.core())).toBeLessThanOrEqual(1_000_000 + 1_800_000);
    for (let tries = 0; tries < 40; tries++) {
      stand.close(1006);
      expect(stand.last().retryInMs).toBeLessThanOrEqual(7_200_000);
      stand.pass(7_200_000);
      stand.open();
    }
  });

  test("its bounds of the backoff are kept to", () => {
    const stand = open({ retry: { min: 2_000, max: 3_000 } });
    for (let tries = 0; tries < 6; tries++) {
      stand.close(1006);
      expect(stand.last().retryInMs).toBeGreaterThanOrEqual(2_000);
      expect(stand.last().retryInMs).toBeLessThanOrEqual(3_000);
      stand.pass(3_000);
      stand.open();
    }
  });
});
