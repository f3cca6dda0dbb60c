import { createServer, request, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { SimulatedClock } from "xstate";
import { describe, expect, test } from "vitest";
import { readBody } from "../../../../plugins/pico-server/http/post-message.ts";
import { MemoryBudget } from "../../../../plugins/pico-server/connection/memory-budget.ts";

const KiB = 1024;

/** Returns the result of reading a body of `bytes` bytes with this budget. */
async function post(bytes: number, budget: MemoryBudget, maxBytes = 1024 * KiB): Promise<unknown> {
  const clock = new SimulatedClock();
  let settle = (_: unknown): void => undefined;
  const outcome = new Promise((done) => void (settle = done));
  const server = createServer((request, response) => {
    const reading = readBody(request, {
      maxBytes,
      clock: {
        ...clock,
        now: () => clock.now(),
        monotonic: () => clock.now(),
        setTimeout: (run, ms) => clock.setTimeout(run, ms),
        clearTimeout: (id) => clock.clearTimeout(id as number),
      },
      reserve: (reserved) => budget.reserve(reserved),
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

describe("readBody", () => {
  test("reserves memory budget for the bytes that arrive", async () => {
    const budget = new MemoryBudget(() => 256 * KiB);
    expect(await post(200 * KiB, budget)).toBe(200 * KiB);
    expect(budget.reserve(57 * KiB)).toBe(false);
    expect(budget.reserve(56 * KiB)).toBe(true);
  });

  test("rejects a body without room in the memory budget", async () => {
    const budget = new MemoryBudget(() => 256 * KiB);
    expect(budget.reserve(100 * KiB)).toBe(true);
    expect(await post(200 * KiB, budget)).toMatchObject({ code: "busy" });
    const fresh = new MemoryBudget(() => 256 * KiB);
    expect(fresh.reserve(100 * KiB)).toBe(true);
    fresh.release(100 * KiB);
    expect(await post(200 * KiB, fresh)).toBe(200 * KiB);
  });

  test("pauses connections while posted bodies fill the memory budget", () => {
    const budget = new MemoryBudget(() => 100);
    const one = {
      isPaused: false,
      bytes: 0,
      arriving: 0,
      setBudgetPause: (isPaused: boolean) => void (one.isPaused = isPaused),
      setDeadline: () => undefined,
    };
    budget.reserve(90);
    budget.grow(one, 20);
    expect(one.isPaused).toBe(true);
    budget.release(90);
    expect(one.isPaused).toBe(false);
  });

  /**
   * A body whose chunks the test writes. `ahead` is the offset of the wall clock in milliseconds.
   */
  function arriving() {
    const clock = new SimulatedClock();
    const q = Object.assign(new PassThrough(), { headers: { "content-type": "application/json" } });
    let counted = 0;
    const server = { q, clock, ahead: 0, counted: () => counted };
    const body = readBody(q as unknown as IncomingMessage, {
      maxBytes: 1024 * KiB,
      reserve: (bytes) => (counted += bytes) > 0,
      clock: {
        now: () => clock.now() + server.ahead,
        monotonic: () => clock.now(),
        setTimeout: (run, ms) => clock.setTimeout(run, ms),
        clearTimeout: (id) => clock.clearTimeout(id as number),
      },
    });
    return { ...server, body, server };
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  test("ignores body bytes that arrive after the read timed out", async () => {
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
    "measures elapsed time after the clock moved by %s ms",
    async (ahead) => {
      const { q, clock, body, server } = arriving();
      q.write(Buffer.alloc(600 * KiB));
      await turn();
      server.ahead = ahead;
      clock.increment(30_000);
      q.end();
      expect(await body).toHaveLength(600 * KiB);
      const slow = arriving();
      slow.server.ahead = ahead;
      slow.clock.increment(30_000);
      expect(await slow.body).toMatchObject({ code: "request_timeout" });
    },
  );
});
