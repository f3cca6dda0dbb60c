import { describe, expect, test } from "vitest";
import { Figures } from "../../../../../plugins/dashboard/server/api/figures.ts";

const minute = 60_000;

function setup() {
  const answers: { at: number; ms: number }[] = [];
  const state = { now: 1_000 * minute, received: 0, sent: 0, rejected: 0, connections: 0, answers };
  const clock = {
    now: () => state.now,
    monotonic: () => state.now,
    setTimeout: () => 0,
    clearTimeout: () => undefined,
  };
  let timer = { at: 0, run: (): void => undefined };
  const after = (ms: number, run: () => void) => {
    timer = { at: state.now + ms, run };
    return () => undefined;
  };
  const figures = new Figures({ clock, after, totals: () => ({ ...state }) });
  const fire = (earlyMs: number): void => {
    state.now = timer.at - earlyMs;
    timer.run();
  };
  /** Moves the clock and runs the timers in between. */
  const wait = (ms: number): void => {
    const end = state.now + ms;
    while (timer.at <= end) fire(0);
    state.now = end;
  };
  return { state, figures, wait, fire };
}

describe("Figures", () => {
  test("counts messages of each minute in both directions", () => {
    const { state, figures, wait } = setup();
    state.received += 1;
    state.sent += 1;
    wait(minute);
    state.received += 1;
    wait(2 * minute);
    expect(figures.perMinute(5)).toEqual([0, 2, 1, 0, 0]);
    const { at, hour, day } = figures.view();
    expect(at).toBe(state.now);
    expect(hour.in.slice(-4)).toEqual([1, 1, 0, 0]);
    expect(hour.out.slice(-4)).toEqual([1, 0, 0, 0]);
    expect([hour.in.length, day.in.length]).toEqual([60, 96]);
    expect(day.in.at(-1)).toBe(2);
  });

  test("ignores a timer that fires a millisecond early", () => {
    const { state, figures, fire } = setup();
    for (let count = 1; count <= 3; count += 1) {
      state.received += count;
      fire(1);
      fire(0);
    }
    expect(figures.view().hour.in.slice(-4)).toEqual([1, 2, 3, 0]);
  });

  test("forgets the minutes of the day before", () => {
    const { state, figures, wait } = setup();
    state.received += 1;
    wait(24 * 60 * minute);
    expect(figures.view().day.in.every((count) => count === 0)).toBe(true);
    state.now += 100 * 24 * 60 * minute;
    figures.view();
    state.received += 1;
    expect(figures.view().hour.in.at(-1)).toBe(1);
  });

  test("counts in the newest minute while the clock runs back", () => {
    const { state, figures } = setup();
    state.now -= 5 * minute;
    state.rejected += 1;
    expect(figures.view().hour.rejected.at(-1)).toBe(1);
  });

  test("keeps the number of connections until it changes", () => {
    const { state, figures, wait } = setup();
    state.connections = 3;
    figures.view();
    state.connections = 1;
    wait(2 * minute);
    expect(figures.view().hour.connections.slice(-4)).toEqual([0, 3, 1, 1]);
    expect(figures.view().mostConnections).toBe(3);
  });

  test("measures the answers of the latest hour", () => {
    const { state, figures, wait } = setup();
    expect(figures.hasAnswered()).toBe(false);
    state.answers.push({ at: state.now, ms: 90_000 });
    wait(60 * minute);
    for (const ms of [4_000, 100, 300, 200]) state.answers.push({ at: state.now, ms });
    const { answers, hour } = figures.view();
    expect(answers).toEqual({ count: 4, medianMs: 300, p95Ms: 4_000 });
    expect(hour.answerMs.slice(-2)).toEqual([0, 300]);
    expect(figures.hasAnswered()).toBe(true);
  });

  test("measures nothing without answers", () => {
    expect(setup().figures.view().answers).toEqual({ count: 0, medianMs: 0, p95Ms: 0 });
  });
});
