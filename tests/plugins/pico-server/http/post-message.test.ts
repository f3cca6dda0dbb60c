import { createServer, request, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { SimulatedClock } from "xstate";
import { describe, expect, test } from "vitest";
import { readBody } from "../../../../plugins/pico-server/http/post-message.ts";
import {
  createMemoryBudget,
  type MemoryBudget,
} from "../../../../plugins/pico-server/connection/memory-budget.ts";

const KiB = 1024;

/** What becomes of a body of so many bytes while the budget has no more room than it has. */
async function post(bytes: number, budget: MemoryBudget, most = 1024 * KiB): Promise<unknown> {
  const clock = new SimulatedClock();
  let settle = (_: unknown): void => undefined;
  const outcome = new Promise((done) => void (settle = done));
  const server = createServer((request, response) => {
    const reading = readBody(request, {
      most,
      clock: {
        ...clock,
        now: () => clock.now(),
        monotonic: () => clock.now(),
        setTimeout: (run, ms) => clock.setTimeout(run, ms),
        clearTimeout: (id) => clock.clearTimeout(id as number),
      },
      take: budget.take,
    });
    void reading.then(settle).finally(() => response.end());
  }).listen(0, "127.0.0.1");
  await new Promise((ready) => server.once("listening", ready));
  const { port } = server.address() as AddressInfo;
  const q = request({
    port,
    host: "127.0.0.1",
    method: "POST",
    headers: { "content-type": "application/json" },
  });
  q.on("error", () => undefined).on("response", (answer) => answer.resume());
  q.end(Buffer.alloc(bytes, "x"));
  const found = await outcome;
  server.closeAllConnections();
  server.close();
  return Buffer.isBuffer(found) ? found.byteLength : found;
}

describe("the body of a posted message", () => {
  test("counts as it comes, in the budget of all that is not accepted", async () => {
    const budget = createMemoryBudget(() => 256 * KiB);
    expect(await post(200 * KiB, budget)).toBe(200 * KiB);
    expect(budget.take(57 * KiB)).toBe(false);
    expect(budget.take(56 * KiB)).toBe(true);
  });

  test("is refused when there is no room for it, and taken when there is again", async () => {
    const budget = createMemoryBudget(() => 256 * KiB);
    expect(budget.take(100 * KiB)).toBe(true);
    expect(await post(200 * KiB, budget)).toMatchObject({ code: "busy" });
    const fresh = createMemoryBudget(() => 256 * KiB);
    expect(fresh.take(100 * KiB)).toBe(true);
    fresh.give(100 * KiB);
    expect(await post(200 * KiB, fresh)).toBe(200 * KiB);
  });

  test("holds up connections that send while posts fill the budget, until there is room", () => {
    const budget = createMemoryBudget(() => 100);
    const one = {
      held: false,
      bytes: 0,
      arriving: 0,
      hold: (isHeld: boolean) => void (one.held = isHeld),
      hurry: () => undefined,
    };
    budget.take(90);
    budget.grow(one, 20);
    expect(one.held).toBe(true);
    budget.give(90);
    expect(one.held).toBe(false);
  });

  /** Comes as it is told to; `ahead`: milliseconds by which the clock was set. */
  function arriving() {
    const clock = new SimulatedClock();
    const q = Object.assign(new PassThrough(), { headers: { "content-type": "application/json" } });
    let counted = 0;
    const stand = { q, clock, ahead: 0, counted: () => counted };
    const body = readBody(q as unknown as IncomingMessage, {
      most: 1024 * KiB,
      take: (bytes) => (counted += bytes) > 0,
      clock: {
        now: () => clock.now() + stand.ahead,
        monotonic: () => clock.now(),
        setTimeout: (run, ms) => clock.setTimeout(run, ms),
        clearTimeout: (id) => clock.clearTimeout(id as number),
      },
    });
    return { ...stand, body, stand };
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  test("that was given up counts no more, whatever still comes of it", async () => {
    const { q, clock, counted, body } = arriving();
    q.write("x");
    await turn();
    clock.increment(30_000);
    expect(await body).toMatchObject({ code: "request_timeout" });
    q.write("too late");
    await turn();
    expect(counted()).toBe(1);
  });

  test.each([86_400_000, -86_400_000])(
    "is judged by the time that passes, though the clock was set by %s ms",
    async (ahead) => {
      const { q, clock, body, stand } = arriving();
      q.write(Buffer.alloc(600 * KiB));
      await turn();
      stand.ahead = ahead;
      clock.increment(30_000);
      q.end();
      expect(await body).toHaveLength(600 * KiB);
      const slow = arriving();
      slow.stand.ahead = ahead;
      slow.clock.increment(30_000);
      expect(await slow.body).toMatchObject({ code: "request_timeout" });
    },
  );
});
