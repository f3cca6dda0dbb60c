import { describe, expect, test } from "vitest";
import { limits, nextAt } from "../../../lib/pico-link/index.ts";
import { encode } from "../../../lib/pico-wire/index.ts";
import { create, hello, play, update } from "./step-player.ts";

describe("step: servers without the extension", () => {
  test("sends each message once and reports it as written", () => {
    const player = play();
    player.open();
    player.send("a");
    player.pass(limits.helloTimeoutMs);
    expect(player.settled()).toEqual([]);
    player.do({ type: "flushed", generation: player.core().generation });
    expect(player.settled()).toEqual([{ type: "confirmed", id: "a", status: "written" }]);
    expect(player.written()).toEqual(["a"]);
  });

  test("sends one message at a time", () => {
    const player = play();
    player.open();
    for (const id of ["a", "b", "c"]) player.send(id);
    expect(player.written()).toEqual(["a"]);
    player.frame({ type: "typing.start" });
    player.do({ type: "flushed", generation: player.core().generation });
    expect(player.written()).toEqual(["a", "b"]);
    expect(nextAt(player.core())).toBeGreaterThan(1_000_000);
  });

  test("remembers the kind of server until a hello", () => {
    const player = play();
    player.open();
    player.frame({ type: "typing.start" });
    player.close(1006);
    player.pass(2_000);
    player.open();
    expect(player.core().connection).toMatchObject({ mode: "plain" });
    player.frame(hello());
    player.close(1006);
    player.pass(2_000);
    player.open();
    expect(player.core().connection?.mode).toBeUndefined();
  });

  test("recognizes the kind of server by silence over several connections", () => {
    const player = play();
    for (let n = 0; n < 3; n++) {
      player.open();
      player.pass(limits.helloTimeoutMs / 2 - 1);
      player.close(1006);
      player.pass(5_000);
    }
    player.open();
    player.pass(1);
    expect(player.core().isPlain).toBe(true);
  });

  test("completes a message with the next one, context_usage or typing.stop", () => {
    const player = play();
    player.open();
    player.frame(create("1", "one"));
    player.frame(create("2", "thinking", { kind: "thought" }));
    expect(player.notifications("onMessage")).toEqual([]);
    player.frame(create("3", "two"));
    expect(player.notifications("onMessage").map(({ content }) => content)).toEqual(["one"]);
    player.frame(update("3", "two!", { context_usage: { used_tokens: 1 } }));
    player.frame(create("4", "three"));
    player.frame({ type: "typing.stop" });
    expect(
      player.notifications("onMessage").map(({ content, assumed }) => [content, assumed]),
    ).toEqual([
      ["one", undefined],
      ["two!", undefined],
      ["three", undefined],
    ]);
  });

  test("repeats onMessage for a new create only", () => {
    const player = play();
    player.open();
    player.frame(create("1", "half"));
    player.pass(limits.messageIdleMs);
    expect(player.notifications("onMessage")).toMatchObject([{ content: "half", assumed: true }]);
    player.frame(update("1", "half and half"));
    player.frame({ type: "typing.stop" });
    expect(player.notifications("onMessage").length).toBe(1);
    expect(player.notifications("onUpdate").at(-1)).toMatchObject({
      content: "half and half",
      final: true,
    });
    player.frame(create("1", "again"));
    player.frame({ type: "typing.stop" });
    expect(player.notifications("onMessage").map(({ content }) => content)).toEqual([
      "half",
      "again",
    ]);
  });

  test("completes messages after typing.stop, and assumes completion after silence", () => {
    const player = play();
    player.open();
    player.frame(create("1", "He"));
    player.frame(update("1", "Hello"));
    expect(player.notifications("onMessage")).toEqual([]);
    player.frame({ type: "typing.stop" });
    player.frame(create("2", "there"));
    player.pass(limits.messageIdleMs - 1);
    expect(player.notifications("onMessage").map(({ content }) => content)).toEqual(["Hello"]);
    player.pass(1);
    expect(player.notifications("onMessage").map(({ content }) => content)).toEqual([
      "Hello",
      "there",
    ]);
    expect(player.notifications("onUpdate").map(({ content }) => content)).toEqual([
      "He",
      "Hello",
      "Hello",
      "there",
      "there",
    ]);
  });

  test("completes only texts as messages", () => {
    const player = play();
    player.open();
    player.frame(create("1", "…", { placeholder: true }));
    player.frame(create("2", "hm", { kind: "thought", thought: true }));
    player.frame(create("3", "", { kind: "tool_calls" }));
    player.frame(update("1", "the answer"));
    player.frame({ type: "typing.stop" });
    expect(player.notifications("onMessage").map(({ content }) => content)).toEqual(["the answer"]);
    expect(player.notifications("onFrame").length).toBe(5);
    const updates = player.notifications("onUpdate");
    expect(updates.map(({ id, kind, final }) => [id, kind, final])).toEqual([
      ["2", "thought", true],
      ["3", "tool_calls", true],
      ["1", "text", false],
      ["1", "text", true],
    ]);
  });

  test("completes messages without an id immediately, with unique ids", () => {
    const player = play();
    player.open();
    player.frame({ ...create("", "a"), timestamp: 1_700_000_000 });
    player.pass(1);
    player.frame({ ...create("", "b"), timestamp: 1_700_000_000_123 });
    const [a, b] = player.notifications("onMessage");
    expect([a!.content, b!.content, a!.at, b!.at]).toEqual([
      "a",
      "b",
      1_700_000_000_000,
      1_700_000_000_123,
    ]);
    expect(a!.id).not.toBe(b!.id);
  });

  test("stops sending typing to a server that does not know it", () => {
    const player = play();
    player.open();
    player.do({ type: "typing", on: true });
    player.frame({ type: "error", payload: { code: "unknown_type", message: "?" } });
    player.do({ type: "typing", on: false });
    expect(player.written()).toEqual([encode({ type: "typing.start" })]);
    expect(player.notifications("onError")).toEqual([]);
  });

  test("treats unknown frames as signs of life only", () => {
    const player = play();
    player.open();
    player.frame(undefined);
    expect(player.core()).toMatchObject({ state: "open", connection: { mode: "plain" } });
    expect(player.notifications("onFrame")).toEqual([]);
  });
});
