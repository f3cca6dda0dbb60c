// Tests the memory of recent message ids.
import { describe, expect, test } from "vitest";
import { createStoppedClock } from "../../../kernel/testing.ts";
import { Dedupe } from "../../../plugins/channels/dedupe.ts";
import type { InboundMessage } from "../../../plugins/channels/index.ts";
import { Sessions } from "../../../plugins/channels/sessions.ts";

const message = (id: string, changes: Partial<InboundMessage> = {}): InboundMessage => ({
  channel: "sample",
  session: "s",
  id,
  content: "hello",
  media: [],
  at: 0,
  hops: 0,
  ...changes,
});
const createDedupe = (clock = createStoppedClock()): Dedupe =>
  new Dedupe(clock, new Sessions(clock));
const inSession = (session: string, id: string): InboundMessage => message(id, { session });

describe("Dedupe", () => {
  test("forgets the least recently used sessions beyond the total limit", () => {
    const dedupe = createDedupe();
    for (let session = 0; session < 70; session += 1) {
      for (let id = 0; id < 1_000; id += 1) dedupe.remember(inSession(`${session}`, `${id}`));
    }
    expect(dedupe.find(inSession("0", "999"))).toBeUndefined();
    expect(dedupe.find(inSession("69", "0"))).toBeDefined();
  });

  test.each<[string, Partial<InboundMessage>]>([
    ["content", { content: "other" }],
    ["media", { media: [{ type: "image/png", url: "a" }] }],
    ["boundary between content and media", { content: "hell", media: [{ type: "o" }] }],
  ])("distinguishes messages by %s", (_, changes) => {
    const dedupe = createDedupe();
    dedupe.remember(message("a"));
    const record = dedupe.find(message("a"))!;
    expect(dedupe.isSame(record, message("a", { at: 9, sender: { id: "b" }, hops: 1 }))).toBe(true);
    expect(dedupe.isSame(record, message("a", changes))).toBe(false);
  });

  test("keeps a digest of every text, also of a short one", () => {
    const dedupe = createDedupe();
    for (const content of ["", "yes", "x".repeat(42), "x".repeat(43)]) {
      const record = dedupe.remember(message("a", { content }));
      expect(record.digest).toMatch(/^[\w-]{43}$/);
      expect(dedupe.isSame(record, message("a", { content }))).toBe(true);
      expect(dedupe.isSame(record, message("a", { content: `${content}.` }))).toBe(false);
    }
  });

  test("distinguishes media by their bytes", () => {
    const dedupe = createDedupe();
    const image = (byte: number): Partial<InboundMessage> => ({
      media: [{ type: "image/png", bytes: new Uint8Array([byte]) }],
    });
    dedupe.remember(message("a", image(1)));
    const record = dedupe.find(message("a"))!;
    expect(dedupe.isSame(record, message("a", image(1)))).toBe(true);
    expect(dedupe.isSame(record, message("a", image(2)))).toBe(false);
  });

  test("keeps the newest 1,024 ids of a session for ten minutes", () => {
    const clock = createStoppedClock();
    const dedupe = createDedupe(clock);
    for (let id = 0; id < 5_000; id += 1) dedupe.remember(inSession("long", `${id}`));
    expect(dedupe.find(inSession("long", `${5_000 - 1_024}`))).toBeDefined();
    expect(dedupe.find(inSession("long", "1000"))).toBeUndefined();
  });

  test("finds open, settled and stopped deliveries by id", () => {
    const dedupe = createDedupe();
    const ids = Array.from({ length: 1_500 }, (_, n) => `${n}`);
    const records = ids.map((id) => dedupe.remember(message(id, { content: `content ${id}` })));
    const forgotten = dedupe.remember(message("rejected"));
    dedupe.forget(message("rejected"), forgotten);
    records.forEach((record, n) => {
      record.isAccepted = n % 3 === 0;
      record.isStopped = n % 3 === 1;
      if (n % 3 < 2) dedupe.settle(message(`${n}`), record);
    });
    const kept = ids.slice(-1_023); // the rejected one had displaced another
    expect(kept.map((id) => dedupe.find(message(id)))).toMatchObject(
      kept.map((id) => ({
        digest: expect.stringMatching(/^[\w-]{43}$/),
        isAccepted: Number(id) % 3 === 0,
        isStopped: Number(id) % 3 === 1,
      })),
    );
    expect([dedupe.find(message("rejected")), dedupe.find(message("0"))]).toEqual([
      undefined,
      undefined,
    ]);
  });

  test("distinguishes open and settled ids of any characters", () => {
    const dedupe = createDedupe();
    const ids = ["", "a", "\u0161", "\ud800", "\udc00", "\u00e9", "\ufffd", "x".repeat(256)];
    const records = ids.map((id) => dedupe.remember(message(id)));
    const find = () => ids.map((id) => dedupe.find(message(id)));
    expect(find()).toEqual(records);
    records.forEach((record, n) => dedupe.settle(message(ids[n]!), record));
    expect(find()).toEqual(records);
    expect(dedupe.find(message("b"))).toBeUndefined();
  });

  test("ignores the outcome of a delivery that it has forgotten", () => {
    const dedupe = createDedupe();
    const first = dedupe.remember(message("a"));
    dedupe.forget(message("a"), first);
    const second = dedupe.remember(message("a"));
    dedupe.settle(message("a"), first);
    expect(dedupe.find(message("a"))).toBe(second);
    dedupe.forgetSession(message("a"));
    dedupe.settle(message("a"), second);
    expect(dedupe.find(message("a"))).toBeUndefined();
  });

  test("keeps a session in use longer than idle sessions", () => {
    const clock = createStoppedClock();
    const dedupe = createDedupe(clock);
    for (let id = 0; id < 2_000; id += 1) dedupe.remember(inSession("idle", `${id}`));
    dedupe.remember(inSession("used", "first"));
    for (let session = 0; session < 100; session += 1) {
      dedupe.remember(inSession("used", `again ${session}`));
      for (let id = 0; id < 1_000; id += 1) dedupe.remember(inSession(`${session}`, `${id}`));
    }
    expect(dedupe.find(inSession("used", "first"))).toBeDefined();
    clock.increment(600_000);
    expect(dedupe.find(inSession("used", "first"))).toBeUndefined();
  });
});
