import { describe, expect, test } from "vitest";
import { limits, nextAt } from "../../../lib/pico-link/index.ts";
import { encode, type Hello, type ServerFrame } from "../../../lib/pico-wire/index.ts";
import { create, hello, numbered, play, update } from "./step-player.ts";

describe("step: servers of extension 1", () => {
  const open = (change: Partial<Hello> = {}) => {
    const player = play();
    player.open();
    player.frame(hello(change));
    return player;
  };

  test("confirms a message when the application has accepted it", () => {
    const player = open();
    player.send("a");
    player.do({ type: "flushed", generation: player.core().generation });
    expect(player.settled()).toEqual([]);
    player.frame({ type: "message.ack", payload: { request_id: "a", status: "accepted" } });
    expect(player.settled()).toContainEqual({ type: "confirmed", id: "a", status: "delivered" });
  });

  test("updates thoughts and tool calls, and keeps texts unfinished", () => {
    const player = open();
    const call = { id: "c", type: "function", function: { name: "clock", arguments: "{}" } };
    player.frame(create("text", "Let me"));
    player.frame(create("thought", "hm", { kind: "thought" }));
    const more = { message_id: "thought", at: 2, content: "!", final: true };
    player.frame({ type: "message.append", payload: more });
    const calls = [{ ...call, result: "noon" }, { id: "no name" }, null, "text"];
    player.frame(create("calls", "", { kind: "tool_calls", tool_calls: calls, final: true }));
    player.frame(update("text", "Let me see", { final: true, model_name: "model-1" }));
    expect(player.notifications("onUpdate")).toMatchObject([
      { id: "text", kind: "text", final: false, toolCalls: [] },
      { id: "thought", kind: "thought", content: "hm", final: false },
      { id: "thought", kind: "thought", content: "hm!", final: true },
      {
        id: "calls",
        kind: "tool_calls",
        final: true,
        toolCalls: [{ id: "c", name: "clock", arguments: "{}", result: "noon" }],
      },
      { id: "text", kind: "text", final: true, model: "model-1" },
    ]);
    expect(player.notifications("onMessage")).toMatchObject([{ id: "text", kind: "text" }]);
  });

  test("reads the words of the application about a step, and its plan", () => {
    const player = open();
    const details = [
      { type: "diff", path: "a.ts", new: "b", cut: true },
      { type: "terminal", text: "ok", exit: 0 },
      { type: "text", text: "hm" },
    ];
    const call = {
      id: "c",
      function: { name: "edit", arguments: "{}" },
      ...{ title: "Edit", kind: "edit", state: "running" },
      details: [...details, { type: "diff", path: "b.ts" }, { type: "sound" }, null],
      locations: [{ path: "a.ts", line: 2 }, { line: 3 }],
    };
    player.frame(create("calls", "", { kind: "tool_calls", tool_calls: [call] }));
    const entries = [{ content: "look", state: "running", priority: "high" }, { state: "pending" }];
    player.frame(create("plan", "- look", { kind: "plan", entries }));
    expect(player.notifications("onUpdate")).toMatchObject([
      {
        toolCalls: [
          {
            ...{ title: "Edit", kind: "edit", state: "running", details },
            locations: [{ path: "a.ts", line: 2 }],
          },
        ],
      },
      { kind: "plan", entries: [{ content: "look", state: "running", priority: "high" }] },
    ]);
  });

  test("reports deletes and typing as objects", () => {
    const player = open();
    player.frame({ type: "message.delete", payload: { message_id: "a" } });
    player.frame({ type: "typing.start" });
    player.frame({ type: "typing.stop" });
    expect(player.notifications("onRemoved")).toEqual([{ id: "a" }]);
    expect(player.notifications("onTyping")).toEqual([{ on: true }, { on: false }]);
  });

  test("counts a numbered frame of an unknown type", () => {
    const player = open();
    player.frame(numbered(1));
    player.frame({ type: "unknown", seq: 2, epoch: "e" });
    player.frame(numbered(3));
    expect(player.core()).toMatchObject({ state: "open", cursor: { seq: 3 } });
  });

  test("advances the cursor by a numbered acknowledgement", () => {
    const player = open();
    player.send("a");
    const payload = { request_id: "a", status: "accepted" } as const;
    player.frame({ type: "message.ack", seq: 1, epoch: "e", payload });
    player.send("b");
    player.frame({
      type: "message.ack",
      seq: 1,
      epoch: "e",
      payload: { ...payload, request_id: "b" },
    });
    expect(player.settled()).toHaveLength(2);
    expect(player.core()).toMatchObject({ state: "open", cursor: { seq: 1 } });
  });

  test("rejects a message with the reason of the server", () => {
    const player = open();
    player.send("a");
    player.frame({
      type: "error",
      payload: { code: "no_application", message: "No application.", request_id: "a" },
    });
    expect(player.settled()).toEqual([
      { type: "refused", id: "a", code: "no_application", message: "No application." },
    ]);
  });

  test("repeats a message after `busy` on the next connection", () => {
    const player = open();
    player.send("a");
    player.frame({ type: "error", payload: { code: "busy", message: "", request_id: "a" } });
    expect(player.core().state).toBe("waiting");
    player.pass(1_000);
    player.open();
    expect(player.written()).toEqual(["a", "a"]);
    expect(player.settled()).toEqual([]);
  });

  test("reports a notice only as a frame", () => {
    const player = open();
    player.send("a");
    const payload = { code: "attachments_skipped", message: "Skipped.", request_id: "a" };
    player.frame({ type: "notice", payload });
    expect(player.notifications("onFrame").at(-1)).toMatchObject({ type: "notice", payload });
    expect(player.notifications("onError")).toEqual([]);
    expect(player.settled()).toEqual([]);
  });

  test("rejects a message larger than max_payload immediately", () => {
    const player = open();
    player.send("a", 1_001);
    expect(player.settled()).toEqual([{ type: "refused", id: "a", code: "too_large" }]);
  });

  test("acknowledges every 32 frames, otherwise once per second", () => {
    const player = open();
    for (let seq = 1; seq <= limits.maxUnackedFrames - 1; seq++) player.frame(numbered(seq));
    expect(player.written()).toEqual([]);
    player.frame(numbered(limits.maxUnackedFrames));
    expect(player.written()).toEqual([encode({ type: "ack", payload: { seq: 32 } })]);
    player.frame(numbered(33));
    player.pass(limits.ackDelayMs);
    expect(player.written().at(-1)).toBe(encode({ type: "ack", payload: { seq: 33 } }));
  });

  test("acknowledges when stopped, so that another client continues after it", () => {
    const player = open();
    player.frame(numbered(1));
    const effects = player.do({ type: "close" });
    expect(effects.slice(0, 2)).toEqual([
      { type: "write", text: encode({ type: "ack", payload: { seq: 1 } }) },
      { type: "drop" },
    ]);
    expect(player.do({ type: "close" })).toEqual([]);
  });

  test("resumes with its cursor and connection id", () => {
    const player = open();
    player.frame(numbered(1));
    player.close(1006);
    player.pass(2_000);
    const { generation } = player.core();
    expect(generation).toBeGreaterThan(1);
    player.open();
    player.frame(hello({ seq: 3, resumed: true, replay: 2 }));
    for (const seq of [1, 2, 3]) player.frame(numbered(seq));
    expect(player.notifications("onMessage").map(({ content }) => content)).toEqual([
      "1",
      "2",
      "3",
    ]);
    expect(player.notifications("onGap")).toEqual([]);
  });

  test("reports a gap if the stream or the extension is lost", () => {
    for (const frame of [hello({ epoch: "other", seq: 9 }), create("x", "plain")]) {
      const player = open();
      player.frame(numbered(1));
      player.close(1006);
      player.pass(2_000);
      player.open();
      player.frame(frame);
      expect(player.notifications("onGap")).toEqual([{ reason: "epoch_changed" }]);
    }
  });

  test("reports one gap when an epoch ends during a connection", () => {
    for (const announces of [true, false]) {
      const player = open();
      player.frame(numbered(1));
      if (announces) player.frame({ type: "gap", payload: { reason: "epoch_changed" } });
      player.frame(numbered(1, "other"));
      expect(player.notifications("onGap")).toEqual([{ reason: "epoch_changed" }]);
      expect(player.notifications("onMessage").length).toBe(2);
    }
  });

  test("reconnects once for missing frames, then reports a gap", () => {
    const player = open();
    player.frame(numbered(1));
    player.frame(numbered(4));
    expect(player.last()).toMatchObject({ to: "waiting", reason: "hole" });
    player.pass(2_000);
    player.open();
    player.frame(hello({ seq: 4, resumed: true, replay: 3 }));
    player.frame(numbered(4));
    expect(player.notifications("onGap")).toEqual([{ from: 2, to: 3, reason: "missing" }]);
    expect(player.notifications("onMessage").map(({ content }) => content)).toEqual(["1", "4"]);
  });

  test("completes a message with its final update only", () => {
    const player = open();
    player.frame({ ...create("1", "a"), seq: 1, epoch: "e" } as ServerFrame);
    player.frame({ type: "typing.stop" });
    player.pass(20_000);
    expect(player.notifications("onMessage")).toEqual([]);
    player.frame({ ...update("1", "a b", { final: true }), seq: 2, epoch: "e" } as ServerFrame);
    expect(player.notifications("onMessage")).toMatchObject([
      { id: "1", content: "a b", final: true },
    ]);
  });

  test("limits server times to what timers support", () => {
    const player = open({
      retry: { min: 1e12, max: 1e15 },
      ping_interval: 1e12,
      read_timeout: 1e12,
    });
    expect(nextAt(player.core())).toBeLessThanOrEqual(1_000_000 + 1_800_000);
    for (let tries = 0; tries < 40; tries++) {
      player.close(1006);
      expect(player.last().retryInMs).toBeLessThanOrEqual(7_200_000);
      player.pass(7_200_000);
      player.open();
    }
  });

  test("respects the backoff bounds of the server", () => {
    const player = open({ retry: { min: 2_000, max: 3_000 } });
    for (let tries = 0; tries < 6; tries++) {
      player.close(1006);
      expect(player.last().retryInMs).toBeGreaterThanOrEqual(2_000);
      expect(player.last().retryInMs).toBeLessThanOrEqual(3_000);
      player.pass(3_000);
      player.open();
    }
  });
});
