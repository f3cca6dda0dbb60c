import { expect, test } from "vitest";
import { createFaultProxy } from "../../testkit/index.ts";
import { startRemote, startPicoClient } from "../support/pico-client-harness.ts";

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

test("delivers all messages once and in order across twenty disconnects", async () => {
  const many = 2_000;
  await using there = await startRemote(() => undefined, { config: { message_rate: 0 } });
  await using network = await createFaultProxy({ port: there.port });
  await using here = await startPicoClient(network.through(there.url));
  await here.until(here.changes, ({ to }) => to === "open");
  const session = here.link.session()!;
  const names = Array.from({ length: many }, (_, n) => `${n + 1}`);

  const upwards = (async () => {
    const sent: Promise<unknown>[] = [];
    for (const content of names) {
      sent.push(here.link.send({ content }));
      await pause(12);
    }
    await Promise.all(sent);
  })();
  const downwards = (async () => {
    for (const content of names) {
      await there.channels.send({ channel: "pico", session }, { content });
      await pause(12);
    }
  })();
  for (let cut = 0; cut < 20; cut++) {
    // Stays open for longer than the link needs to reset its backoff. Backoffs stay short, so the
    // server still buffers the missed messages.
    const opened = () => here.changes.filter(({ to }) => to === "open").length;
    while (opened() <= cut) await pause(5);
    const steadyAt = here.now() + 10_500 + ((cut * 37) % 101) * 10;
    while (here.now() < steadyAt) await pause(5);
    network.cut();
  }
  await Promise.all([upwards, downwards]);
  await here.until(here.heard, ({ content }) => content === String(many));

  expect(there.heard.map(({ content }) => content)).toEqual(names);
  expect(here.heard.map(({ content }) => content)).toEqual(names);
  expect(here.changes.filter(({ to }) => to === "waiting").length).toBeGreaterThanOrEqual(20);
  expect(here.lines.filter(({ text }) => text.includes("were lost"))).toEqual([]);
});
