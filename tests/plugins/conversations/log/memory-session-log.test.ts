import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { SimulatedClock } from "xstate";
import {
  MemorySessionLog,
  type MemorySessionLogOptions,
} from "../../../../plugins/conversations/log/memory-session-log.ts";
import { numbered, partial, sessionLogConformance } from "../../../conformance/session-log.ts";

const retentionMs = 300_000;

function make(options: Partial<MemorySessionLogOptions> = {}) {
  const clock = new SimulatedClock();
  const settled: string[] = [];
  const log = new MemorySessionLog({
    random: (bytes) => randomBytes(bytes),
    now: () => clock.now(),
    after(ms, run) {
      const timer = clock.setTimeout(run, ms);
      return () => clock.clearTimeout(timer);
    },
    onReceipt: (_, id, status, reason) =>
      void settled.push([id, status, reason].filter(Boolean).join(" ")),
    ...options,
  });
  return { log, settled, pass: (ms: number) => clock.increment(ms) };
}

describe("MemorySessionLog", () =>
  sessionLogConformance({ keptMs: retentionMs, isDurable: false }, make));

const subscriber = { onEntry: () => undefined };

describe("MemorySessionLog bounds", () => {
  const size = numbered("m").frame.byteLength;
  const cost = 1_024 + 64 + size;

  test("ends the longest idle stream and keeps streams with subscribers", () => {
    const { log, settled } = make({ bounds: { streams: 3, bytes: 1e9 } });
    log.subscribe("live", subscriber);
    for (const session of ["a", "b", "c"]) log.append(session, numbered(session));
    expect(["live", "a", "b", "c"].filter((session) => log.top(session))).toEqual([
      "live",
      "b",
      "c",
    ]);
    expect(settled).toEqual(["a undelivered expired"]);
  });

  test("rejects a message without subscribers when all streams have subscribers", () => {
    const { log } = make({ bounds: { streams: 1, bytes: 1e9 } });
    log.subscribe("live", subscriber);
    expect(() => log.append("new", numbered("x"))).toThrow(
      expect.objectContaining({ code: "undeliverable" }),
    );
    expect(log.append("live", numbered("x"))).toMatchObject({ subscribers: 1 });
  });

  test("ends idle streams before it drops frames of subscribed streams", () => {
    const { log } = make({ bounds: { streams: 100, bytes: 3 * cost } });
    log.subscribe("live", subscriber);
    for (const session of ["live", "a", "b", "c"]) log.append(session, numbered("m"));
    expect(["live", "a", "b", "c"].filter((session) => log.top(session))).toEqual([
      "live",
      "b",
      "c",
    ]);
  });

  test("drops frames of subscribed streams last and reports them as undelivered", () => {
    const { log } = make({ bounds: { streams: 100, bytes: 2 * cost } });
    for (const session of ["one", "two", "three"])
      log.subscribe(session, subscriber, { resumes: true });
    const { epoch } = log.top("one") as { epoch: string };
    log.append("one", numbered("m"));
    log.append("one", partial("p", "p"));
    for (const session of ["two", "three"]) log.append(session, numbered("m"));
    expect(log.readAfter("one", { epoch, seq: 0 })).toMatchObject({
      gap: { reason: "overflow", from: 1, to: 1 },
      frames: [],
      partials: [],
    });
  });

  test("ends an empty stream of a plain client with its subscription", () => {
    const { log } = make();
    log.subscribe("s", subscriber);
    log.unsubscribe("s", subscriber);
    expect(log.top("s")).toBeUndefined();
  });
});
