import { expect, test } from "vitest";
import { capturedLog, stoppedClock } from "../../../kernel/testing.ts";
import { createSpeech } from "../../../plugins/program/speech.ts";

test("a clock that is set back does not silence the program's log", () => {
  let now = 3_600_000;
  const clock = { ...stoppedClock(), now: () => now };
  const { log, lines } = capturedLog();
  const speech = createSpeech({ clock, log, redact: (text) => text });
  speech.said("before");
  now = 0;
  speech.said("after");
  expect(lines.map(({ text }) => text)).toEqual(["before", "after"]);
});
