import { describe, expect, test } from "vitest";
import { createCapturedLog, createStoppedClock } from "../../../kernel/testing.ts";
import { OutputLog } from "../../../lib/child-process/index.ts";

describe("OutputLog", () => {
  test("keeps logging after the clock is set back", () => {
    let now = 3_600_000;
    const clock = { ...createStoppedClock(), now: () => now };
    const { log, lines } = createCapturedLog();
    const outputLog = new OutputLog({
      clock,
      log,
      redact: (text) => text,
      advice: { fields: {}, text: "" },
    });
    outputLog.stderrLine("before");
    now = 0;
    outputLog.stderrLine("after");
    expect(lines.map(({ text }) => text)).toEqual(["before", "after"]);
  });
});
