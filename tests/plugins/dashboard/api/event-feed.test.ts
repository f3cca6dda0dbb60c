import { expect, test } from "vitest";
import { createStoppedClock } from "../../../../kernel/testing.ts";
import { EventFeed } from "../../../../plugins/dashboard/api/event-feed.ts";
import type { LogLineView } from "../../../../plugins/dashboard/index.ts";

/* What a stream hears after a pause, and while nothing new happens. */

interface Heard {
  readonly name: string;
  readonly id: string | undefined;
  readonly data: any;
}

function stand() {
  const clock = createStoppedClock();
  clock.set(1_700_000_000_000);
  const followers = new Set<(line: LogLineView) => void>();
  const sum = { in: 0, out: 0, connections: 0, queuedBytes: 0 };
  const feed = new EventFeed({
    clock,
    epoch: "e",
    state: () => "running",
    traffic: () => ({ ...sum }),
    after(ms, run) {
      const id = clock.setTimeout(run, ms);
      return () => clock.clearTimeout(id);
    },
    log: {
      read: async () => ({ lines: [], truncated: false }),
      async *lines() {},
      follow(heard) {
        followers.add(heard);
        return () => void followers.delete(heard);
      },
    },
  });
  const open = (lastId?: string, log?: "info") => {
    const heard: Heard[] = [];
    const sink = {
      end: () => undefined,
      write(text: string): void {
        const [, id, name, data] = /^(?:id: (.*)\n)?event: (.*)\ndata: (.*)\n\n$/.exec(text) ?? [];
        if (name !== undefined) heard.push({ name, id, data: JSON.parse(data!) });
      },
    };
    const { leave } = feed.open(sink, { owner: {}, lastId, log });
    const all = (name: string) =>
      heard.filter((each) => each.name === name).map(({ data }) => data);
    return {
      leave,
      all,
      last: () => heard.findLast(({ id }) => id !== undefined)!.id,
      resumed: () => heard[0]!.data.resumed,
    };
  };
  const line = (text: string): void =>
    followers.forEach((heard) => heard({ at: 1, level: "info", text, fields: {} }));
  return { clock, feed, sum, open, line };
}

test("lines that nobody followed are not passed over: whoever comes back looks again", () => {
  const { open, line } = stand();
  const page = open(undefined, "info");
  line("seen");
  page.leave();
  line("while the page was hidden");
  expect(open(page.last(), "info").resumed()).toBe(false);
});

test("lines go on where they were for whoever comes back while somebody else followed them", () => {
  const { open, line } = stand();
  open(undefined, "info");
  const page = open(undefined, "info");
  line("seen");
  page.leave();
  line("missed");
  const again = open(page.last(), "info");
  expect(again.resumed()).toBe(true);
  expect(again.all("log").map(({ text }) => text)).toEqual(["missed"]);
});

test("a page that was hidden in a flood hears what was left out of it, facts and lines", () => {
  const { clock, feed, open, line } = stand();
  open(undefined, "info");
  const page = open(undefined, "info");
  for (let n = 0; n < 120; n += 1) feed.publish("state", { at: n, state: "running" });
  for (let n = 0; n < 60; n += 1) line(`line ${n}`);
  page.leave();
  clock.increment(1_000);
  const again = open(page.last(), "info");
  expect([again.resumed(), again.all("missed"), again.all("log-skipped")]).toEqual([
    true,
    [{ count: 20 }],
    [{ count: 10 }],
  ]);
});

test("a flood whose only listener leaves before the second is over is told when it comes back", () => {
  const { feed, open } = stand();
  const page = open();
  for (let n = 0; n < 120; n += 1) feed.publish("state", { at: n, state: "running" });
  page.leave();
  feed.publish("state", { at: 121, state: "running" });
  const again = open(page.last());
  expect([again.resumed(), again.all("missed")]).toEqual([true, [{ count: 20 }]]);
});

test("steady traffic is told each second, silence every 15 seconds", () => {
  const { clock, sum, open } = stand();
  const page = open();
  for (let second = 0; second < 5; second += 1) {
    sum.in += 7;
    clock.increment(1_000);
  }
  expect(page.all("rate").map((rate) => rate.in)).toEqual([7, 7, 7, 7, 7]);
  clock.increment(1_000);
  for (let second = 0; second < 60; second += 1) clock.increment(1_000);
  expect(
    page
      .all("rate")
      .slice(5)
      .map((rate) => rate.in),
  ).toEqual([0, 0, 0, 0, 0]);
});

test("a stream that is opened beside others hears the rate as it is, though it does not change", () => {
  const { clock, open } = stand();
  open();
  clock.increment(1_000);
  const late = open();
  clock.increment(1_000);
  expect(late.all("rate")).toHaveLength(1);
});
