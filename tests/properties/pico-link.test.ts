import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  limits as bounds,
  createLink,
  limits as timing,
  type Link,
  type ChatStateChange,
  type ChatGap,
} from "../../lib/pico-link/index.ts";
import { createWorld, type World } from "./pico-world.ts";
import { runs } from "../support/runs.ts";

interface Diary {
  readonly link: Link;
  readonly sent: string[];
  readonly delivered: string[];
  readonly failed: { id: string; code: string }[];
  /** Numbered frames and gaps in the order of arrival. */
  readonly received: ({ epoch: string; seq: number } | { gap: ChatGap })[];
  readonly wholes: string[];
  readonly changes: (ChatStateChange & { at: number })[];
}

function keepDiary(world: World, token: string | (() => string) = "token"): Diary {
  let ids = 0;
  const diary: Omit<Diary, "link"> = {
    sent: [],
    delivered: [],
    failed: [],
    received: [],
    wholes: [],
    changes: [],
  };
  const link = createLink({
    url: "ws://server/pico",
    token,
    sessionId: "s",
    dial: world.dial,
    clock: world.time,
    random: world.random,
    newId: () => `c${++ids}`,
    onFrame: (frame) => {
      if ("seq" in frame && frame.seq !== undefined)
        diary.received.push({ epoch: frame.epoch ?? "", seq: frame.seq });
    },
    onGap: (gap) => void diary.received.push({ gap }),
    onMessage: ({ content }) => void diary.wholes.push(content),
    onState: (change) => void diary.changes.push({ ...change, at: world.time.now() }),
  });
  return { link, ...diary };
}

function send({ link, sent, delivered, failed }: Diary): void {
  const id = `n${sent.length + 1}`;
  sent.push(id);
  link.send({ id, content: id }).accepted.then(
    () => void delivered.push(id),
    (error: { code: string }) => void failed.push({ id, code: error.code }),
  );
}

type Action = readonly [
  afterMs: number,
  what:
    | "send"
    | "burst"
    | "say"
    | "stream"
    | "cut"
    | "outage"
    | "lose"
    | "double"
    | "kill"
    | "restart",
];
const action = (...what: Action[1][]) => fc.tuple(fc.nat(2_500), fc.constantFrom(...what));
const calm = ["send", "burst", "say", "stream", "cut", "outage", "lose", "double"] as const;

async function play(world: World, diary: Diary, actions: readonly Action[]): Promise<void> {
  let said = 0;
  diary.link.start();
  await world.time.pass(1_000);
  for (const [afterMs, what] of actions) {
    await world.time.pass(afterMs);
    if (what === "send") send(diary);
    if (what === "burst") for (let at = 0; at < 7; at++) send(diary);
    if (what === "say" && world.server().isAlive()) world.server().say(`say ${++said}`);
    if (what === "stream" && world.server().isAlive())
      world.server().stream(`stream ${++said} ${"x".repeat(12)}`, 4);
    if (what === "cut") world.cut();
    if (what === "outage") world.outage(1_000 + Math.floor(world.random() * 8_000));
    if (what === "lose") world.lose();
    if (what === "double") world.double();
    if (what === "kill") world.restart(2_000, false);
    if (what === "restart") world.restart(2_000, true);
  }
  await world.time.pass(60_000);
  world.heal();
  world.server().say("the end");
  await world.time.pass(90_000);
}

const isIncreasing = (numbers: readonly number[]): boolean =>
  numbers.every((n, at) => at === 0 || n > numbers[at - 1]!);

/** Numbers that the client received or that a gap reported, in order. */
function accounted(received: Diary["received"]): number[] {
  return received.flatMap((item) => {
    if ("seq" in item) return [item.seq];
    const { from, to } = item.gap;
    return from === undefined || to === undefined
      ? []
      : Array.from({ length: to - from + 1 }, (_, at) => from + at);
  });
}

/** The received frames, split where an epoch ended. */
function parted(received: Diary["received"]): Diary["received"][] {
  const parts: Diary["received"][] = [[]];
  for (const item of received) {
    if ("gap" in item && item.gap.reason === "epoch_changed") parts.push([]);
    else parts.at(-1)!.push(item);
  }
  return parts;
}

const oneToN = (n: number): number[] => Array.from({ length: n }, (_, at) => at + 1);
const seeds = { seed: fc.integer(), window: fc.constantFrom(2, 8, 256) };

describe("createLink on one server process", () => {
  test("loses, repeats and reorders nothing on any network", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record(seeds),
        fc.array(action(...calm), { minLength: 3, maxLength: 40 }),
        async (options, actions) => {
          const world = createWorld(options);
          const diary = keepDiary(world);
          await play(world, diary, actions);
          const { accepted, seq, published } = world.server();
          expect(diary.failed).toEqual([]);
          expect(diary.delivered).toEqual(diary.sent);
          expect(accepted).toEqual(diary.sent);
          expect(accounted(diary.received)).toEqual(oneToN(seq()));
          const texts = new Set(published.map(({ content }) => content));
          expect(diary.wholes.filter((text) => !texts.has(text) || text === "")).toEqual([]);
          expect(new Set(diary.wholes).size).toBe(diary.wholes.length);
          diary.link.close();
        },
      ),
      { numRuns: runs(150) },
    );
  });

  test("reports gaps only for frames that the server dropped", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer(),
        fc.array(action("say", "stream", "cut", "outage", "double"), { maxLength: 40 }),
        async (seed, actions) => {
          const world = createWorld({ seed, window: 10_000 });
          const diary = keepDiary(world);
          await play(world, diary, actions);
          expect(diary.received.filter((item) => "gap" in item)).toEqual([]);
          expect(diary.wholes.length).toBe(
            new Set(world.server().published.flatMap(({ content }) => content || [])).size,
          );
          diary.link.close();
        },
      ),
      { numRuns: runs(60) },
    );
  });
});

describe("createLink across server restarts", () => {
  test("delivers every message and reports every gap", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record(seeds),
        fc.array(action(...calm, "kill", "restart"), { minLength: 3, maxLength: 40 }),
        async (options, actions) => {
          const world = createWorld(options);
          const diary = keepDiary(world);
          await play(world, diary, actions);
          const accepted = world.processes.flatMap((process) => process.accepted);
          expect(diary.failed).toEqual([]);
          expect(diary.delivered).toEqual(diary.sent);
          expect([...new Set(accepted)].sort()).toEqual([...diary.sent].sort());
          for (const process of world.processes) {
            expect(new Set(process.accepted).size).toBe(process.accepted.length);
            expect(isIncreasing(process.accepted.map((id) => Number(id.slice(1))))).toBe(true);
          }
          const parts = parted(diary.received);
          for (const [at, part] of parts.entries()) {
            const numbers = accounted(part);
            const first = numbers[0] ?? 1;
            expect(numbers).toEqual(numbers.map((_, n) => first + n));
            if (at === 0) expect(first).toBe(1);
            const epochs = new Set(part.flatMap((item) => ("epoch" in item ? [item.epoch] : [])));
            expect(epochs.size).toBeLessThan(2);
            if (at + 1 < parts.length) continue;
            expect(numbers.at(-1)).toBe(world.server().seq());
            expect([...epochs].filter((epoch) => epoch !== world.server().epoch)).toEqual([]);
          }
          diary.link.close();
        },
      ),
      { numRuns: runs(150) },
    );
  });
});

describe("createLink attempts", () => {
  test("waits within the jitter bounds, at most thirty seconds", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const world = createWorld({ seed, window: 8 });
        world.outage(600_000);
        const diary = keepDiary(world);
        diary.link.start();
        await world.time.pass(500_000);
        const waits = diary.changes.flatMap(({ to, retryInMs, attempt }) =>
          to === "waiting" ? [{ retryInMs: retryInMs!, attempt }] : [],
        );
        expect(waits.length).toBeGreaterThan(15);
        for (const { retryInMs, attempt } of waits) {
          expect(retryInMs).toBeGreaterThanOrEqual(timing.minRetryMs);
          expect(retryInMs).toBeLessThanOrEqual(
            Math.min(timing.maxRetryMs, timing.minRetryMs * 2 ** attempt),
          );
        }
        diary.link.close();
      }),
      { numRuns: runs(30) },
    );
  });

  test("sends a wrong token twice, and a new one immediately", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer(),
        fc.array(fc.constantFrom("cut", "outage"), { maxLength: 6 }),
        async (seed, actions) => {
          let token = "wrong";
          const world = createWorld({ seed, window: 8, accepts: (shown) => shown === "right" });
          const diary = keepDiary(world, () => token);
          diary.link.start();
          for (const what of actions) {
            await world.time.pass(500);
            if (what === "outage") world.outage(700);
          }
          await world.time.pass(60_000);
          expect(diary.link.state()).toBe("blocked");
          const refused = diary.changes.filter(
            ({ reason, from }) => reason === "token_mismatch" && from === "connecting",
          );
          expect(refused.map(({ to }) => to)).toEqual(["waiting", "blocked"]);
          expect(refused[1]!.check).toContain("same on both sides");
          const before = world.dials.length;
          await world.time.pass(timing.blockedRetryMs);
          expect(world.dials.length).toBe(before + 1);
          token = "right";
          diary.link.retry();
          await world.time.pass(1_000);
          expect(diary.link.state()).toBe("open");
          diary.link.close();
        },
      ),
      { numRuns: runs(30) },
    );
  });

  test("attempts nothing after stop and settles every message", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer(),
        fc.array(action(...calm), { maxLength: 15 }),
        fc.nat(3_000),
        async (seed, actions, ms) => {
          const world = createWorld({ seed, window: 8 });
          const diary = keepDiary(world);
          diary.link.start();
          await world.time.pass(ms % 400);
          for (const [afterMs, what] of actions) {
            await world.time.pass(afterMs % 300);
            if (what === "send" || what === "burst") send(diary);
            if (what === "cut") world.cut();
          }
          diary.link.close();
          send(diary);
          const dials = world.dials.length;
          await world.time.pass(600_000);
          expect(world.dials.length).toBe(dials);
          expect(diary.link.state()).toBe("closed");
          expect([...diary.delivered, ...diary.failed.map(({ id }) => id)].sort()).toEqual(
            [...diary.sent].sort(),
          );
          expect(new Set(diary.failed.map(({ code }) => code)).size).toBeLessThanOrEqual(1);
        },
      ),
      { numRuns: runs(40) },
    );
  });
});

describe("createLink limits", () => {
  test("rejects messages beyond the outbox and keeps the permitted rate", async () => {
    const world = createWorld({ seed: 7, window: 256 });
    const diary = keepDiary(world);
    world.outage(20_000);
    diary.link.start();
    for (let at = 0; at < bounds.maxQueuedMessages + 5; at++) send(diary);
    await world.time.pass(1_000);
    expect(diary.failed.map(({ code }) => code)).toEqual(Array<string>(5).fill("outbox_full"));
    await world.time.pass(120_000);
    expect(world.server().accepted).toEqual(diary.sent.slice(0, bounds.maxQueuedMessages));
    expect(world.fastest()).toBeLessThanOrEqual(300);
    diary.link.close();
  });

  test("rejects a message without confirmation after five minutes", async () => {
    const world = createWorld({ seed: 8, window: 256 });
    const diary = keepDiary(world);
    world.outage(400_000);
    diary.link.start();
    send(diary);
    await world.time.pass(timing.messageExpiryMs + 1);
    expect(diary.failed).toEqual([{ id: "n1", code: "expired" }]);
    diary.link.close();
  });
});
