// Tests the order in which the answers of a session are stopped.
import { expect, describe, test } from "vitest";
import { createCapturedLog, createStoppedClock } from "../../../kernel/testing.ts";
import { Runs } from "../../../plugins/doors/runs.ts";
import type { PicoDoor } from "../../../plugins/pico-server/index.ts";

describe("Runs.stop", () => {
  test("stops the latest answer first, so that none begins", async () => {
    const stopped: (string | undefined)[] = [];
    const door = {
      subscribe: () => () => undefined,
      deliver: () => new Promise(() => undefined),
      stop(_: string, id: string) {
        stopped.push(id);
        return [{ id, status: id === "a" ? "stopping" : "removed" }];
      },
    } as unknown as PicoDoor;
    const options = { answerMs: () => 60_000, maxRequests: () => 10 };
    const clock = createStoppedClock();
    const runs = new Runs({ door, clock, log: createCapturedLog().log, ...options });
    const sender = { id: "token:pico" };
    for (const id of ["a", "b", "c"])
      runs.start({
        ...{ session: "s", id, content: id, media: [], hops: 0, sender, isRepeatable: true },
        settled: () => undefined,
      });
    const results = await runs.stop("s", sender, () => true);
    expect(stopped).toEqual(["c", "b", "a"]);
    expect(results.map(({ status }) => status)).toEqual(["stopping", "removed", "removed"]);
    runs.close();
  });
});
