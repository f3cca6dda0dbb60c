// Runs random replies, and checks their events with the verifier of the client.
import { expect } from "vitest";
import { createRandom, randomHandler } from "../../../support/random-reply.ts";
import { authorization, loadLibrary, loadRxjs, startAgUi, type RunEvent } from "./harness.ts";

/** Runs `count` random replies; every third one is joined after a lost connection. */
export async function checkRandomRuns({
  count,
  seed,
}: {
  readonly count: number;
  readonly seed: number;
}): Promise<void> {
  const random = createRandom(seed);
  const { verifyEvents } = await loadLibrary();
  const { from } = await loadRxjs();
  await using service = await startAgUi();
  const violations: string[] = [];
  const ends = new Map<string, number>();

  const read = async (thread: string): Promise<RunEvent[]> => {
    const messages = [{ id: "u", role: "user", content: "hi" }];
    const response = await fetch(service.url, {
      method: "POST",
      headers: { ...authorization, "Content-Type": "application/json" },
      body: JSON.stringify({ threadId: thread, runId: "r", messages }),
    });
    const text = await response.text();
    if (response.status !== 200) return [];
    const lines = text.split("\n\n").filter((event) => event.startsWith("data: "));
    return lines.map((event) => JSON.parse(event.slice(6)) as RunEvent);
  };
  const verify = (events: readonly RunEvent[]): void => {
    verifyEvents(false)(from(events)).subscribe({
      error: ({ message }) => void violations.push(message),
    });
    const { type, outcome } = events.at(-1)!;
    const name = type === "RUN_ERROR" ? type : (outcome as { type: string }).type;
    ends.set(name, (ends.get(name) ?? 0) + 1);
    expect(JSON.stringify(events)).not.toContain(":null");
  };

  for (let run = 0; run < count; run += 1) {
    const thread = `run-${run}`;
    const session = `ag_ui/${thread}`;
    const stop = (): void => void service.channels.stop({ channel: "pico", session });
    service.state.handler = randomHandler(random, stop);
    const reads = run % 3 === 0 ? [read(thread), read(thread)] : [read(thread)];
    for (const events of await Promise.all(reads)) if (events.length > 0) verify(events);
  }
  expect(violations).toEqual([]);
  for (const end of ["success", "cancelled", "RUN_ERROR"])
    expect(ends.get(end) ?? 0, end).toBeGreaterThan(0);
}
