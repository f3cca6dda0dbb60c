import { expect, test } from "vitest";
import { createCapturedLog, createStoppedClock } from "../../../kernel/testing.ts";
import { createOutputLog } from "../../../plugins/program/output-log.ts";

test("a clock that is set back does not silence the program's log", () => {
  let now = 3_600_000;
  const clock = { ...createStoppedClock(), now: () => now };
  const { log, lines } = createCapturedLog();
  const speech = createOutputLog({ clock, log, redact: (text) => text });
  speech.log("before");
  now = 0;
  speech.log("after");
  expect(lines.map(({ text }) => text)).toEqual(["before", "after"]);
});
