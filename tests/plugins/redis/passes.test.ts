import { describe, expect, test } from "vitest";
import type { PassOutcome } from "../../../plugins/conversations/index.ts";
import type { Nodes } from "../../../plugins/redis/nodes.ts";
import { Passes } from "../../../plugins/redis/passes.ts";

type Handler = (fields: Readonly<Record<string, unknown>>, from: string) => void;

/** A node that receives messages of the node `other`. */
function createReceiver() {
  const handlers = new Map<string, Handler>();
  const sent: unknown[] = [];
  const delivered: PassOutcome[] = [];
  const nodes = {
    handle: (type: string, handler: Handler) => void handlers.set(type, handler),
    watchGone: () => undefined,
    send: async (_: string, fields: unknown) => sent.push(fields) > 0,
  };
  const unused = (): never => {
    throw new Error("not called");
  };
  void new Passes({
    nodes: nodes as unknown as Nodes,
    after: () => () => undefined,
    passed: (_, outcome) => void delivered.push(outcome),
    ...{ stopped: unused, running: unused, answered: unused, questions: unused },
  });
  const message = { channel: "pico", session: "s", content: "", media: [], at: 0, hops: 0 };
  const receive = (i: number): void =>
    handlers.get("pass")!({ i, message: { ...message, id: `m${i}` } }, "other");
  return { receive, delivered, sent };
}

describe("Passes", () => {
  test("delivers a message once while it waits behind thousands of others", () => {
    const { receive, delivered } = createReceiver();
    for (let i = 1; i <= 5_000; i += 1) receive(i);
    receive(1);
    expect(delivered).toHaveLength(5_000);
  });

  test("delivers a slow message once while thousands of others are settled", () => {
    const { receive, delivered, sent } = createReceiver();
    for (let i = 1; i <= 5_000; i += 1) receive(i);
    for (const outcome of delivered.slice(1)) outcome.accepted("accepted");
    receive(1);
    expect(delivered).toHaveLength(5_000);
    delivered[0]!.accepted("accepted");
    receive(1);
    expect(delivered).toHaveLength(5_000);
    expect(sent.slice(-2)).toEqual([1, 1].map((i) => ({ t: "outcome", i, s: "accepted" })));
  });
});
