// Conformance tests for the turns of people in a session log.
import { describe, expect, test } from "vitest";
import type { SessionLog } from "../../plugins/conversations/index.ts";

/** A log with a subscriber of the session `s` that has not asked for turns. */
interface TurnStand {
  readonly log: SessionLog;
  /** Ends the subscription. */
  readonly release: () => void;
  /** Appends messages of the application to the session `s`. */
  readonly say: (...texts: string[]) => Promise<void>;
}

export function turnConformance(isDurable: boolean, open: () => Promise<TurnStand>): void {
  describe("wantsTurns", () => {
    test("is true in a store, and in memory after a subscriber asked", async () => {
      const { log, release } = await open();
      expect([log.wantsTurns("s"), log.wantsTurns("other")]).toEqual([isDurable, isDurable]);
      const subscriber = { onEntry: () => undefined };
      await log.subscribe("s", subscriber, { turns: true });
      log.unsubscribe("s", subscriber);
      release();
      expect([log.wantsTurns("s"), log.wantsTurns("other")]).toEqual([true, isDurable]);
    });
  });

  describe("hasTurn", () => {
    test("finds the messages of clients, each in its session", async () => {
      const { log, say } = await open();
      const payload = { message_id: "t1", request_id: "r1", content: "hello" };
      const frame = new TextEncoder().encode(JSON.stringify({ type: "message.user", payload }));
      const turn = { type: "message.user", request: "r1", frame, numbered: true } as const;
      await log.append("s", turn);
      await say("r2");
      expect(await log.hasTurn("s", "r1")).toBe(true);
      expect(await log.hasTurn("s", "r2")).toBe(false);
      expect(await log.hasTurn("other", "r1")).toBe(false);
    });
  });
}
