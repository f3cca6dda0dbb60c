// Retention under clocks that are wrong.
import { describe, expect, test } from "vitest";
import { createCapturedLog } from "../../../../kernel/testing.ts";
import { createFolder, openStore, say, StoppedTime } from "../../../support/sqlite-store.ts";

const hour = 3_600_000;
const day = 24 * hour;
const noneLive = () => false;
const keep = (keepDays: number) => ({ keepDays, maxBytes: 1e9 });

async function openAt(clock: StoppedTime, folder = createFolder()) {
  const { log, lines } = createCapturedLog();
  const store = await openStore({ folder, clock, log });
  const retain = (days = 90): Promise<number> => store.retain(keep(days), noneLive);
  const sessions = (): string[] => store.history.list().items.map(({ session }) => session);
  return { store, folder, lines, retain, sessions };
}

describe("a system clock that is 400 days ahead", () => {
  test("deletes nothing, is named, and is forgotten when it is set back", async () => {
    const clock = new StoppedTime();
    const { store, retain, sessions, lines } = await openAt(clock);
    await say(store, "a", "before");
    await clock.pass(hour);
    clock.offset += 400 * day;
    await say(store, "b", "while it is wrong");
    for (let at = 0; at < 3; at++) {
      expect(await retain()).toBe(0);
      await clock.pass(hour);
    }
    expect(store.health().notice).toContain("days ahead");
    expect(lines.filter(({ level }) => level === "warn").at(-1)!.text).toContain("days ahead");
    clock.offset -= 400 * day;
    expect(await retain()).toBe(0);
    expect(store.health()).not.toHaveProperty("notice");
    await say(store, "c", "after");
    expect(sessions()).toEqual(["c", "b", "a"]);
  });

  test("needs 400 hours to do harm", async () => {
    const clock = new StoppedTime();
    const { store, retain } = await openAt(clock);
    await say(store, "a", "before");
    clock.offset += 400 * day;
    await clock.pass(80 * hour);
    expect(await retain()).toBe(0);
    await clock.pass(20 * hour);
    expect(await retain()).toBe(1);
  });

  test("changes nothing over restarts", async () => {
    const clock = new StoppedTime();
    const first = await openAt(clock);
    await say(first.store, "a", "before");
    await first.store.end();
    clock.offset += 400 * day;
    for (let at = 0; at < 5; at++) {
      const next = await openAt(clock, first.folder);
      expect(await next.retain()).toBe(0);
      await clock.pass(hour);
      expect(await next.retain()).toBe(0);
      await next.store.end();
    }
    clock.offset -= 400 * day;
    const last = await openAt(clock, first.folder);
    expect(await last.retain()).toBe(0);
    expect(last.sessions()).toEqual(["a"]);
  });
});

describe("a machine that starts in 2016 and then learns the time", () => {
  test("deletes nothing of an existing store", async () => {
    const now = Date.UTC(2026, 5, 1);
    const clock = new StoppedTime(now);
    const first = await openAt(clock);
    await say(first.store, "a", "before");
    await first.store.end();
    const wrong = new StoppedTime(Date.UTC(2016, 0, 1));
    const second = await openAt(wrong, first.folder);
    expect(await second.retain()).toBe(0);
    await say(second.store, "b", "in 2016");
    await wrong.pass(hour);
    wrong.offset = now + day;
    await say(second.store, "c", "at the right time");
    expect(await second.retain()).toBe(0);
    await wrong.pass(2 * hour);
    expect(await second.retain()).toBe(0);
    expect(second.sessions()).toEqual(["c", "b", "a"]);
  });

  test("deletes nothing of a store that begins there", async () => {
    const clock = new StoppedTime(Date.UTC(2016, 0, 1));
    const { store, retain, sessions } = await openAt(clock);
    await say(store, "a", "in 2016");
    clock.offset = Date.UTC(2026, 0, 1);
    await say(store, "b", "in 2026");
    await clock.pass(hour);
    expect(await retain()).toBe(0);
    expect(sessions()).toEqual(["b", "a"]);
  });
});

describe("keep_days", () => {
  test("acts immediately when the owner lowers it", async () => {
    const clock = new StoppedTime();
    const { store, retain, sessions, lines } = await openAt(clock);
    await say(store, "a", "old");
    await clock.pass(30 * day);
    await say(store, "b", "new");
    expect(await retain(90)).toBe(0);
    expect(await retain(7)).toBe(1);
    expect(sessions()).toEqual(["b"]);
    expect(lines.at(-1)).toMatchObject({ count: 1, oldest: "2026-06-01T00:00:00.000Z" });
  });
});

describe("70 days away", () => {
  test("cost no conversation before the clock has caught up", async () => {
    const clock = new StoppedTime();
    const first = await openAt(clock);
    await say(first.store, "a", "before");
    await first.store.end();
    const later = new StoppedTime(clock.now() + 70 * day);
    const second = await openAt(later, first.folder);
    expect(await second.retain(60)).toBe(0);
    await later.pass(50 * hour);
    expect(await second.retain(60)).toBe(0);
    await later.pass(12 * hour);
    expect(await second.retain(60)).toBe(1);
  });

  test("cost no conversation while the machine sleeps", async () => {
    const clock = new StoppedTime();
    const { store, retain } = await openAt(clock);
    await say(store, "a", "before");
    clock.suspend(70 * day);
    await clock.pass(hour);
    expect(await retain(60)).toBe(0);
  });
});
