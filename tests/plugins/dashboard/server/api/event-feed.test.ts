import { expect, test } from "vitest";
import { createStoppedClock } from "../../../../../kernel/testing.ts";
import { EventFeed } from "../../../../../plugins/dashboard/server/api/event-feed.ts";
import type { LogLineView } from "../../../../../plugins/dashboard/index.ts";

// Tests which events a stream receives after a pause and while nothing changes.

interface ReceivedEvent {
  readonly name: string;
  readonly id: string | undefined;
  readonly data: any;
}

function server() {
  const clock = createStoppedClock();
  clock.set(1_700_000_000_000);
  const followers = new Set<(line: LogLineView) => void>();
  const sum = { in: 0, out: 0, connections: 0, queuedBytes: 0, sessions: 0 };
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
      follow(onLine) {
        followers.add(onLine);
        return () => void followers.delete(onLine);
      },
    },
  });
  const open = (lastId?: string, log?: "info") => {
    const received: ReceivedEvent[] = [];
    const sink = {
      end: () => undefined,
      write(text: string): void {
        const [, id, name, data] = /^(?:id: (.*)\n)?event: (.*)\ndata: (.*)\n\n$/.exec(text) ?? [];
        if (name !== undefined) received.push({ name, id, data: JSON.parse(data!) });
      },
    };
    const { leave } = feed.open(sink, { owner: {}, lastId, log });
    const all = (name: string) =>
      received.filter((each) => each.name === name).map(({ data }) => data);
    return {
      leave,
      all,
      last: () => received.findLast(({ id }) => id !== undefined)!.id,
      resumed: () => received[0]!.data.resumed,
    };
  };
  const line = (text: string): void =>
    followers.forEach((onLine) => onLine({ at: 1, level: "info", text, fields: {} }));
  return { clock, feed, sum, open, line };
}

test("EventFeed: does not resume over log lines it did not follow", () => {
  const { open, line } = server();
  const page = open(undefined, "info");
  line("seen");
  page.leave();
  line("while the page was hidden");
  expect(open(page.last(), "info").resumed()).toBe(false);
});

test("EventFeed: resumes log lines while another stream followed them", () => {
  const { open, line } = server();
  open(undefined, "info");
  const page = open(undefined, "info");
  line("seen");
  page.leave();
  line("missed");
  const again = open(page.last(), "info");
  expect(again.resumed()).toBe(true);
  expect(again.all("log").map(({ text }) => text)).toEqual(["missed"]);
});

test("EventFeed: reports skipped events and lines after a reconnect", () => {
  const { clock, feed, open, line } = server();
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

test("EventFeed: reports skipped events even if the last stream left early", () => {
  const { feed, open } = server();
  const page = open();
  for (let n = 0; n < 120; n += 1) feed.publish("state", { at: n, state: "running" });
  page.leave();
  feed.publish("state", { at: 121, state: "running" });
  const again = open(page.last());
  expect([again.resumed(), again.all("missed")]).toEqual([true, [{ count: 20 }]]);
});

test("EventFeed: sends the rate each second, or every 15 s if unchanged", () => {
  const { clock, sum, open } = server();
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

test("EventFeed: sends the current rate to a new stream", () => {
  const { clock, open } = server();
  open();
  clock.increment(1_000);
  const late = open();
  clock.increment(1_000);
  expect(late.all("rate")).toHaveLength(1);
});

test("EventFeed: replays nothing that it was asked to forget", () => {
  const { feed, open, line } = server();
  const page = open(undefined, "info");
  const behind = page.last();
  feed.publish("state", { at: 1, state: "running" });
  line("contains a later token");
  page.leave();
  feed.forget();
  const again = open(behind, "info");
  expect([again.resumed(), again.all("state"), again.all("log")]).toEqual([false, [], []]);
});

test("EventFeed: resumes a stream that missed nothing before forgetting", () => {
  const { feed, open } = server();
  const page = open();
  feed.publish("state", { at: 1, state: "running" });
  feed.forget();
  feed.publish("state", { at: 2, state: "rotating" });
  const again = open(page.last());
  expect([again.resumed(), again.all("state")]).toEqual([true, []]);
});
