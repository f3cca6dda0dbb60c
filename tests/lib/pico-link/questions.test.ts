import { describe, expect, test } from "vitest";
import type { ServerFrame } from "../../../lib/pico-wire/index.ts";
import { hello, play } from "./step-player.ts";

const frame = (id: string, state: "open" | "settled", seq?: number): ServerFrame => ({
  type: state === "open" ? "message.create" : "message.update",
  ...(seq !== undefined && { seq, epoch: "e" }),
  payload: {
    message_id: id,
    content: "Delete?",
    final: state === "settled",
    question: { kind: "approval", state },
  },
});

describe("step: questions", () => {
  function listen() {
    const player = play();
    const join = (change: object = {}) => {
      player.open();
      player.frame(hello({ can: ["questions"], ...change }));
    };
    const seen = () => player.notifications("onQuestion").map(({ id, state }) => `${id} ${state}`);
    return { player, join, seen };
  }

  test("reports a question once while open and once when settled", () => {
    const { player, join, seen } = listen();
    join({ questions: ["q"] });
    for (const state of ["open", "open", "settled", "settled", "open"] as const)
      player.frame(frame("q", state));
    expect(seen()).toEqual(["q open", "q settled"]);
  });

  test("settles a question that hello no longer lists", () => {
    const { player, join, seen } = listen();
    join({ questions: ["a", "b"] });
    player.frame(frame("a", "open"));
    player.frame(frame("b", "open"));
    player.close(1006);
    player.pass(60_000);
    join({ resumed: true, questions: ["b"] });
    player.frame(frame("b", "open"));
    expect(seen()).toEqual(["a open", "b open", "a settled"]);
  });

  test("reads the replay before the list of hello counts", () => {
    const { player, join, seen } = listen();
    join({ questions: ["a", "b"] });
    player.frame(frame("a", "open"));
    player.frame(frame("b", "open"));
    player.close(1006);
    player.pass(60_000);
    join({ resumed: true, seq: 1, replay: 1, questions: [] });
    expect(seen()).toHaveLength(2);
    player.frame(frame("b", "settled", 1));
    expect(seen().slice(2)).toEqual(["b settled", "a settled"]);
  });

  test("keeps questions open if the server sends no list", () => {
    const { player, join, seen } = listen();
    join({ questions: ["a"] });
    player.frame(frame("a", "open"));
    player.close(1006);
    player.pass(60_000);
    join({ resumed: true });
    expect(seen()).toEqual(["a open"]);
  });

  test("remembers 256 questions", () => {
    const { player, join, seen } = listen();
    join();
    for (let at = 0; at <= 256; at++) player.frame(frame(`q${at}`, "open"));
    player.frame(frame("q1", "open"));
    expect(seen()).toHaveLength(257);
    player.frame(frame("q0", "open"));
    expect(seen().at(-1)).toBe("q0 open");
    expect(seen()).toHaveLength(258);
  });
});
