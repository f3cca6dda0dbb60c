import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { SimulatedClock } from "xstate";
import {
  createMemorySessionLog,
  type MemorySessionLogOptions,
} from "../../../../plugins/pico-server/session/memory-session-log.ts";
import { numbered, partial, sessionLogConformance } from "../../../conformance/session-log.ts";

const keptMs = 300_000;

function make(options: Partial<MemorySessionLogOptions> = {}) {
  const clock = new SimulatedClock();
  const settled: string[] = [];
  const log = createMemorySessionLog({
    random: (bytes) => randomBytes(bytes),
    now: () => clock.now(),
    after(ms, run) {
      const timer = clock.setTimeout(run, ms);
      return () => clock.clearTimeout(timer);
    },
    settled: (_, id, status, reason) =>
      void settled.push([id, status, reason].filter(Boolean).join(" ")),
    ...options,
  });
  return { log, settled, pass: (ms: number) => clock.increment(ms) };
}

describe("in memory", () => sessionLogConformance(keptMs, make));

const nobody = { onEntry: () => undefined };

describe("the bounds of all streams in memory", () => {
  const size = numbered("m").frame.byteLength;
  const cost = 1_024 + 64 + size;

  test("the longest idle stream leaves whole when there are too many; streams with listeners stay", () => {
    const { log, settled } = make({ bounds: { streams: 3, bytes: 1e9 } });
    log.subscribe("live", nobody);
    for (const session of ["a", "b", "c"]) log.append(session, numbered(session));
    expect(["live", "a", "b", "c"].filter((session) => log.top(session))).toEqual([
      "live",
      "b",
      "c",
    ]);
    expect(settled).toEqual(["a undelivered expired"]);
  });

  test("a message to nobody is refused when every stream has listeners", () => {
    const { log } = make({ bounds: { streams: 1, bytes: 1e9 } });
    log.subscribe("live", nobody);
    expect(() => log.append("new", numbered("x"))).toThrow(
      expect.objectContaining({ code: "undeliverable" }),
    );
    expect(log.append("live", numbered("x"))).toMatchObject({ heard: 1 });
  });

  test("bytes are counted: idle streams leave before any of what a listener's stream holds", () => {
    const { log } = make({ bounds: { streams: 100, bytes: 3 * cost } });
    log.subscribe("live", nobody);
    for (const session of ["live", "a", "b", "c"]) log.append(session, numbered("m"));
    expect(["live", "a", "b", "c"].filter((session) => log.top(session))).toEqual([
      "live",
      "b",
      "c",
    ]);
  });

  test("when only listeners' streams are left, they lose what they hold and say so", () => {
    const { log } = make({ bounds: { streams: 100, bytes: 2 * cost } });
    for (const session of ["one", "two", "three"])
      log.subscribe(session, nobody, { resumes: true });
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

  test("a plain client's stream without a message ends with it", () => {
    const { log } = make();
    log.subscribe("s", nobody);
    log.unsubscribe("s", nobody);
    expect(log.top("s")).toBeUndefined();
  });
});
