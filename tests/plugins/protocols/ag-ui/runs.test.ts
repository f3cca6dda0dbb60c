// Checks the events of random runs.
import { expect, test } from "vitest";
import { isInstalled, loadLibrary, loadRxjs } from "./harness.ts";
import { checkRandomRuns } from "./random-runs.ts";

test.skipIf(!isInstalled)("reports a violation to the test", async () => {
  const { verifyEvents } = await loadLibrary();
  const { from } = await loadRxjs();
  const errors: string[] = [];
  verifyEvents(false)(from([{ type: "TEXT_MESSAGE_END", messageId: "m" }])).subscribe({
    error: ({ message }) => void errors.push(message),
  });
  expect(errors).toHaveLength(1);
});

test.skipIf(!isInstalled)("sends events that the verifier accepts", () =>
  checkRandomRuns({ count: 150, seed: 7 }),
);
