import { expect, test } from "vitest";
import { createStoppedClock } from "../../../kernel/testing.ts";
import { createDedupe } from "../../../plugins/channels/dedupe.ts";
import type { InboundMessage } from "../../../plugins/channels/index.ts";

const message = (id: string, changes: Partial<InboundMessage> = {}): InboundMessage => ({
  channel: "toy",
  session: "s",
  id,
  content: "hello",
  media: [],
  at: 0,
  hops: 0,
  ...changes,
});
const of = (session: string, id: string): InboundMessage => message(id, { session });

test("the sessions used longest ago are forgotten when all together hold too much", () => {
  const dedupe = createDedupe(createStoppedClock());
  for (let session = 0; session < 70; session += 1) {
    for (let id = 0; id < 1_000; id += 1) dedupe.remember(of(`${session}`, `${id}`));
  }
  expect(dedupe.find(of("0", "999"))).toBeUndefined();
  expect(dedupe.find(of("69", "0"))).toBeDefined();
});

test.each<[string, Partial<InboundMessage>]>([
  ["content", { content: "other" }],
  ["a medium", { media: [{ type: "image/png", url: "a" }] }],
  ["where one part ends and the next begins", { content: "hell", media: [{ type: "o" }] }],
])("%s makes another message", (_, changes) => {
  const dedupe = createDedupe(createStoppedClock());
  dedupe.remember(message("a"));
  const taken = dedupe.find(message("a"))!;
  expect(dedupe.isSame(taken, message("a", { at: 9, sender: "b", hops: 1 }))).toBe(true);
  expect(dedupe.isSame(taken, message("a", changes))).toBe(false);
});

test("a medium is told by its bytes", () => {
  const dedupe = createDedupe(createStoppedClock());
  const image = (byte: number): Partial<InboundMessage> => ({
    media: [{ type: "image/png", bytes: new Uint8Array([byte]) }],
  });
  dedupe.remember(message("a", image(1)));
  const taken = dedupe.find(message("a"))!;
  expect(dedupe.isSame(taken, message("a", image(1)))).toBe(true);
  expect(dedupe.isSame(taken, message("a", image(2)))).toBe(false);
});

test("a session keeps its newest 1,024 ids, ten minutes at most, and one in use outlives idle ones", () => {
  const clock = createStoppedClock();
  const dedupe = createDedupe(clock);
  for (let id = 0; id < 5_000; id += 1) dedupe.remember(of("long", `${id}`));
  expect(dedupe.find(of("long", `${5_000 - 1_024}`))).toBeDefined();
  expect(dedupe.find(of("long", "1000"))).toBeUndefined();
  dedupe.remember(of("used", "first"));
  for (let session = 0; session < 100; session += 1) {
    dedupe.remember(of("used", `again ${session}`));
    for (let id = 0; id < 1_000; id += 1) dedupe.remember(of(`${session}`, `${id}`));
  }
  expect(dedupe.find(of("used", "first"))).toBeDefined();
  clock.increment(600_000);
  expect(dedupe.find(of("used", "first"))).toBeUndefined();
});
