// Tests how the answers of a session are stopped and cleared.
import { expect, describe, test } from "vitest";
import { createCapturedLog, createStoppedClock } from "../../../kernel/testing.ts";
import { ClientCalls } from "../../../plugins/protocols/client-calls.ts";
import { Runs } from "../../../plugins/protocols/runs.ts";
import type { PicoProtocol } from "../../../plugins/pico-server/index.ts";

const sender = { id: "token:pico" };

function createRuns(stop: PicoProtocol["stop"] = async () => []) {
  const channel = {
    subscribe: () => () => undefined,
    deliver: () => new Promise(() => undefined),
    stop,
  } as unknown as PicoProtocol;
  const options = {
    after: () => () => undefined,
    channels: { history: async () => ({ items: [] }), deliverAnswers: () => undefined },
    calls: new ClientCalls({
      channels: { history: async () => ({ items: [] }) },
      clock: createStoppedClock(),
    }),
    answerMs: () => 60_000,
    maxRequests: () => 10,
  };
  const clock = createStoppedClock();
  const runs = new Runs({ channel, clock, log: createCapturedLog().log, ...options });
  const start = (id: string, session = "s") =>
    runs.start({
      ...{ session, id, content: id, media: [], hops: 0, sender },
      ...{ isRepeatable: true, isExpendable: false },
      settled: () => undefined,
    });
  return { runs, start };
}

describe("Runs.stop", () => {
  test("stops the latest answer first, so that none begins", async () => {
    const stopped: (string | undefined)[] = [];
    const { runs, start } = createRuns(async (_, id = "") => {
      stopped.push(id);
      return [{ id, status: id === "a" ? "stopping" : "removed" }];
    });
    for (const id of ["a", "b", "c"]) start(id);
    const results = await runs.stop("s", sender, () => true);
    expect(stopped).toEqual(["c", "b", "a"]);
    expect(results.map(({ status }) => status)).toEqual(["stopping", "removed", "removed"]);
    runs.close();
  });
});

describe("Runs.clear", () => {
  test("ends the answers of one session and keeps none of them", () => {
    const { runs, start } = createRuns();
    const [first, second] = [start("a"), start("b", "other")];
    runs.clear("s");
    expect(first.end).toMatchObject({ outcome: "stopped" });
    expect(second.end).toBeUndefined();
    expect([runs.find("s", "a"), runs.latest("s")]).toEqual([undefined, undefined]);
    expect(runs.find("other", "b")).toBeDefined();
    runs.close();
  });
});
