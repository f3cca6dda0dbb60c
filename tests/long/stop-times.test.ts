// Measures how long a stop takes to reach the application, from each place but the chat page.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stopPlaces } from "../e2e/stop-places.ts";
import { startProtocols } from "../support/protocol-service.ts";

const stops = 200;
const maxMs = 100;
/** Playwright needs longer for a click than the page for a stop. */
const measured = stopPlaces.filter(({ title }) => title !== "chat page");

test.each(measured)("$title: aborts the signal within 100 ms in 99 %", async (kind) => {
  const folder = await mkdtemp(join(tmpdir(), "doorward-stops-"));
  await using service = await startProtocols();
  let abortedAt = 0;
  let begun = 0;
  let ended = 0;
  service.kernel.on("channels:answer-ended", () => void (ended += 1));
  service.state.handler = async (message) => {
    const stream = message.stream();
    message.accept();
    stream.write("so far");
    const aborted = new Promise<void>((done) =>
      message.signal.addEventListener("abort", () => {
        abortedAt = performance.now();
        done();
      }),
    );
    begun += 1;
    await aborted;
  };
  await using place = await kind.open(service, "room", { folder, browser: undefined });
  const times: number[] = [];
  for (let count = 1; count <= stops; count += 1) {
    await place.send(`m${count}`, "hi");
    await expect.poll(() => begun, { interval: 1 }).toBe(count);
    const askedAt = performance.now();
    await place.stop(`m${count}`);
    await expect.poll(() => ended, { interval: 1 }).toBe(count);
    times.push(abortedAt - askedAt);
  }
  await rm(folder, { recursive: true, force: true });
  const sorted = times.toSorted((a, b) => a - b);
  const p99 = sorted[Math.ceil(stops * 0.99) - 1]!;
  expect(p99, `median ${sorted[stops / 2]!.toFixed(1)} ms`).toBeLessThan(maxMs);
  process.stdout.write(`${kind.title}: p99 ${p99.toFixed(1)} ms\n`);
});
