import { describe, expect, test } from "vitest";
import type { UserTurnFrame } from "../../../lib/pico-wire/index.ts";
import { hello, numbered, play } from "./step-player.ts";

const open = (can: readonly string[] | undefined = ["stop", "turns"]) => {
  const player = play();
  player.open();
  player.frame(hello(can ? { can } : {}));
  return player;
};
type Player = ReturnType<typeof open>;
const halt = (player: Player, id: string, requestId?: string) =>
  player.do({ type: "halt", id, requestId });
const stopFrame = (id: string, request_id?: string): string =>
  JSON.stringify({ type: "message.stop", id, payload: { request_id } });
const reconnect = (player: Player) => {
  player.close(1006);
  player.pass(60);
  player.do({ type: "retry" });
  player.open();
};

describe("step: stops", () => {
  test("sends a stop and resolves with the statuses of the server", () => {
    const player = open();
    player.send("m");
    halt(player, "x", "m");
    expect(player.written()).toEqual(["m", stopFrame("x", "m")]);
    const stopped = [{ request_id: "m", status: "stopping" }];
    const effects = player.frame({ type: "stop.ack", payload: { request_id: "x", stopped } });
    const result = [{ requestId: "m", status: "stopping" }];
    expect(effects).toContainEqual({ type: "halted", id: "x", stopped: result });
    expect(player.core().stops).toEqual([]);
  });

  test("repeats messages first, then sends the stop, then later messages", () => {
    const player = open();
    player.send("one");
    player.close(1006);
    halt(player, "x");
    player.send("two");
    player.do({ type: "retry" });
    player.open();
    expect(player.written()).toEqual(["one", "one"]);
    player.frame(hello({ can: ["stop"], resumed: true }));
    expect(player.written().slice(2)).toEqual([stopFrame("x"), "two"]);
  });

  test("sends a stop without an answer again on the next connection", () => {
    const player = open();
    player.send("m");
    halt(player, "x", "m");
    reconnect(player);
    player.frame(hello({ can: ["stop"], resumed: true }));
    expect(player.written()).toEqual(["m", stopFrame("x", "m"), "m", stopFrame("x", "m")]);
  });

  test("removes a message that was never sent without asking the server", () => {
    const player = open();
    player.close(1006);
    player.send("m");
    const effects = halt(player, "x", "m");
    const removed = [{ requestId: "m", status: "removed" }];
    expect(effects).toContainEqual({ type: "refused", id: "m", code: "stopped" });
    expect(effects).toContainEqual({ type: "halted", id: "x", stopped: removed });
    expect(player.core()).toMatchObject({ outbox: [], stops: [] });
  });

  test("rejects a stop that waited for 60 s", () => {
    const player = open();
    player.send("m");
    player.close(1006);
    halt(player, "x", "m");
    player.pass(60_001);
    expect(player.settled()).toContainEqual({ type: "refused", id: "x", code: "expired" });
  });

  test.each([[undefined], [["turns"]]])("rejects a stop if the server offers %j", (can) => {
    const player = play();
    player.open();
    player.frame(hello(can ? { can } : {}));
    halt(player, "x");
    expect(player.settled()).toEqual([{ type: "refused", id: "x", code: "unsupported" }]);
  });

  test("rejects stops when the link stops", () => {
    const player = open();
    halt(player, "x");
    player.do({ type: "close" });
    halt(player, "y");
    expect(player.settled()).toEqual([
      { type: "refused", id: "x", code: "closed" },
      { type: "refused", id: "y", code: "closed" },
    ]);
  });
});

describe("step: turns and ends of answers", () => {
  const turn = (seq: number, request_id: string): UserTurnFrame => ({
    type: "message.user",
    seq,
    epoch: "e",
    timestamp: 5,
    payload: {
      message_id: `u${seq}`,
      request_id,
      content: "hello",
      media: [],
      attachments: [],
      ["door"]: "pico",
    },
  });

  test("reports the turns of other devices once, and none of its own", () => {
    const player = open();
    player.send("mine");
    player.frame(turn(1, "theirs"));
    player.frame(turn(1, "theirs"));
    player.frame(turn(2, "mine"));
    player.frame(numbered(3));
    expect(player.notifications("onTurn")).toMatchObject([
      { id: "u1", requestId: "theirs", content: "hello", at: 5 },
    ]);
    expect(player.core()).toMatchObject({ state: "open", cursor: { seq: 3 } });
  });

  test("reports the end of an answer", () => {
    const player = open();
    const payload = { request_id: "m", outcome: "stopped", finish_reason: "stopped" };
    player.frame({ type: "answer.end", payload });
    player.frame({ type: "answer.end", payload: { ...payload, usage: { input_tokens: "3" } } });
    const suggestions = ["More?"];
    player.frame({ type: "answer.end", payload: { ...payload, suggestions } });
    const usage = { input_tokens: 3, output_tokens: 4, reasoning_tokens: 1, cached_tokens: 2 };
    player.frame({ type: "answer.end", payload: { ...payload, usage } });
    const end = { requestId: "m", outcome: "stopped", finishReason: "stopped" };
    expect(player.notifications("onEnd")).toEqual([
      end,
      end,
      { ...end, suggestions },
      { ...end, usage: { input: 3, output: 4, reasoning: 1, cached: 2 } },
    ]);
  });
});
