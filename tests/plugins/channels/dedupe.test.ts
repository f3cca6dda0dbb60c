import { expect, test } from "vitest";
import { SimulatedClock } from "xstate";
import { createDedupe } from "../../../plugins/channels/dedupe.ts";
import type { Incoming } from "../../../plugins/channels/index.ts";

const message = (id: string, changes: Partial<Incoming> = {}): Incoming =>
  ({ channel: "toy", session: "s", id, content: "hello", media: [], at: 0, hops: 0, ...changes });
const taken = Promise.resolve();

test("the sessions used longest ago are forgotten when all together hold too much", () => {
  const dedupe = createDedupe(new SimulatedClock());
  for (let session = 0; session < 70; session += 1) {
    for (let id = 0; id < 1_000; id += 1) dedupe.remember(`${session}`, message(`${id}`), taken);
  }
  expect(dedupe.find("0", message("999"))).toBeUndefined();
  expect(dedupe.find("69", message("0"))).toMatchObject({ same: true });
});

test.each<[string, Partial<Incoming>]>([
  ["content", { content: "other" }],
  ["a medium", { media: [{ type: "image/png", url: "a" }] }],
  ["where one part ends and the next begins", { content: "hell", media: [{ type: "o" }] }],
])("%s makes another message", (_, changes) => {
  const dedupe = createDedupe(new SimulatedClock());
  dedupe.remember("s", message("a"), taken);
  expect(dedupe.find("s", message("a", { at: 9, sender: "b", hops: 1 }))?.same).toBe(true);
  expect(dedupe.find("s", message("a", changes))?.same).toBe(false);
});

test("a medium is told by its bytes", () => {
  const dedupe = createDedupe(new SimulatedClock());
  const image = (byte: number): Partial<Incoming> =>
    ({ media: [{ type: "image/png", bytes: new Uint8Array([byte]) }] });
  dedupe.remember("s", message("a", image(1)), taken);
  expect(dedupe.find("s", message("a", image(1)))?.same).toBe(true);
  expect(dedupe.find("s", message("a", image(2)))?.same).toBe(false);
});
