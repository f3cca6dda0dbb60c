import { expect, test } from "vitest";
import { createActivityLog } from "../../../../plugins/dashboard/api/activity.ts";

test("createActivityLog: ignores a timer that fires a millisecond early", () => {
  let now = 0;
  let messages = 0;
  let next = { ms: 0, run: (): void => undefined };
  const clock = {
    now: () => now,
    monotonic: () => now,
    setTimeout: () => 0,
    clearTimeout: () => undefined,
  };
  const after = (ms: number, run: () => void) => {
    next = { ms, run };
    return () => undefined;
  };
  const activity = createActivityLog(clock, after, () => messages);
  for (const late of [-1, 0, 0, -1, 0]) {
    messages += 5;
    now += next.ms + late;
    next.run();
  }
  expect(activity.perMinute()).toEqual([0, 0, 0, 0, 0, 0, 10, 5, 10, 0]);
});
