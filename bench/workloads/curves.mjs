// Measures how cost grows when the work is doubled repeatedly. At a slope of 1, twice the work costs
// twice the processor time.
import { sampleOf, withPairs } from "../rounds.mjs";
import { figure, grid, median } from "../report.mjs";
import { picoToken } from "../settings.mjs";

/** @typedef {import("../rounds.mjs").Size} Size */
/** @typedef {import("../rounds.mjs").Pair} Pair */
/** @typedef {import("../load/echo.mjs").Result} Result */
/** @typedef {import("../servers.mjs").Name} Name */
/** @typedef {{ name: string, costs: number[] }} Curve Microseconds of the server per operation */

/** Steeper slopes are marked: they are more than noise. */
const maxSlope = 1.1;
const connectionCount = 50;

/** @param {Size} size */
export async function measureCurves(size) {
  const doubled = (/** @type {number} */ first, /** @type {number} */ points) =>
    Array.from({ length: size.rounds > 1 ? points : 2 }, (_, at) => first * 2 ** at);
  const connections = doubled(size.count(500), 5);
  const messages = doubled(size.count(2_000), 6);
  const seconds = size.seconds / 4;

  const own = await measureGrowth(
    ["doorward", "ws"],
    size,
    connections,
    1,
    ({ generator }, count) =>
      generator.ask("exchange", { inFlight: 1, messages: Math.max(count * 4, size.count(8_000)) }),
  );
  show("one more connection, by open connections", connections, own.opening);
  show("a message, by sessions of one connection", connections, own.working);

  const shared = await measureGrowth(
    ["doorward", "raw writes", "ws"],
    size,
    connections,
    1_000_000,
    ({ generator }) => generator.ask("fanOut", { seconds }),
  );
  show("a delivery, by connections of a session", connections, shared.working);

  await withPairs(["doorward", "doorward, extension", "ws"], size, async (pairs) => {
    for (const { generator } of pairs)
      await generator.ask("connect", { connections: connectionCount, perSession: 1 });
    const depths = doubled(1, 7);
    show(
      `a message, by messages in flight on each of ${connectionCount} connections`,
      depths,
      await measureLoads(pairs, size, depths, ({ generator }, inFlight) =>
        generator.ask("exchange", { inFlight, messages: size.count(20_000) }),
      ),
    );
    show(
      `a message, by messages over ${connectionCount} connections`,
      messages,
      await measureLoads(pairs, size, messages, ({ generator }, total) =>
        generator.ask("exchange", { inFlight: 16, messages: total }),
      ),
    );
    const [doorward] = pairs;
    const posts = messages.slice(0, -1);
    show(
      "a message posted to a session of its own, by messages",
      posts,
      await measureLoads(doorward ? [doorward] : [], size, posts, post),
    );
  });

  await withPairs(["doorward, streams", "ws"], size, async (pairs) => {
    for (const { generator } of pairs)
      await generator.ask("connect", { connections: connectionCount, perSession: 1 });
    const tokens = doubled(size.count(1_000), 5);
    const tokensPerSecond = (tokens.at(-1) ?? 1) / (size.seconds * 2);
    show(
      "a reply to one viewer, by tokens",
      tokens,
      await measureLoads(pairs, size, tokens, ({ generator }, count) =>
        generator.ask("streams", { tokens: count, tokensPerSecond }),
      ),
      (cost) => cost,
    );
  });
  return [];
}

/** Opens more and more connections. Measures the cost of each new one and then of the work.
 * @param {readonly Name[]} names @param {Size} size @param {readonly number[]} points @param {number} perSession
 * @param {(pair: Pair, connections: number) => Promise<Result>} work */
const measureGrowth = (names, size, points, perSession, work) =>
  withPairs(names, size, async (pairs) => {
    const opening = pairs.map(
      ({ server }) => /** @type {Curve} */ ({ name: server.name, costs: [] }),
    );
    const working = pairs.map(
      ({ server }) => /** @type {Curve} */ ({ name: server.name, costs: [] }),
    );
    for (const connections of points) {
      for (const [at, { generator }] of pairs.entries()) {
        opening[at]?.costs.push(
          sampleOf(await generator.ask("connect", { connections, perSession })).cost,
        );
      }
      const costs = await inTurn(pairs, size, (pair) => work(pair, connections));
      for (const [at, cost] of costs.entries()) working[at]?.costs.push(cost);
    }
    return { opening, working };
  });

/** Increases the work step by step.
 * @param {readonly Pair[]} pairs @param {Size} size @param {readonly number[]} points
 * @param {(pair: Pair, point: number) => Promise<Result>} work @returns {Promise<Curve[]>} */
async function measureLoads(pairs, size, points, work) {
  const curves = pairs.map(({ server }) => /** @type {Curve} */ ({ name: server.name, costs: [] }));
  if (size.rounds > 1) for (const pair of pairs) await work(pair, points.at(-1) ?? 1); // the warm-up
  for (const point of points) {
    const costs = await inTurn(pairs, size, (pair) => work(pair, point));
    for (const [at, cost] of costs.entries()) curves[at]?.costs.push(cost);
  }
  return curves;
}

/** Returns the median cost of each server.
 * @param {readonly Pair[]} pairs @param {Size} size @param {(pair: Pair) => Promise<Result>} work */
async function inTurn(pairs, { rounds, deadline }, work) {
  const costs = pairs.map(() => /** @type {number[]} */ ([]));
  for (let round = 0; round < Math.min(rounds, 3); round += 1) {
    if (round > 0 && performance.now() > deadline) break;
    for (const [at, pair] of pairs.entries()) costs[at]?.push(sampleOf(await work(pair)).cost);
  }
  return costs.map(median);
}

let posted = 0;

/** @param {Pair} pair @param {number} total */
function post({ server, generator }, total) {
  const series = String((posted += 1)).padStart(4, "0");
  const body = `{"session_id":"posted-${series}-{n}","content":"hello, is this echoed?"}`;
  const head = [
    "POST /pico/messages HTTP/1.1",
    `Host: 127.0.0.1:${server.port}`,
    `Authorization: Bearer ${picoToken}`,
    "Content-Type: application/json",
    `Content-Length: ${body.length - "{n}".length + 8}`,
  ];
  return generator.ask("requests", {
    request: `${head.join("\r\n")}\r\n\r\n${body}`,
    status: 202,
    concurrency: 16,
    total,
  });
}

/** @param {string} what @param {readonly number[]} points @param {readonly Curve[]} curves
 * @param {(cost: number, point: number) => number} [whole] Returns the cost of all the work at a point */
function show(what, points, curves, whole = (cost, point) => cost * point) {
  const rows = curves.map(({ name, costs }) => {
    const slope = slopeOf(
      points,
      costs.map((cost, at) => whole(cost, points[at] ?? 1)),
    );
    return [name, ...costs.map(figure), `${figure(slope)}${slope > maxSlope ? " (!)" : ""}`];
  });
  console.log(
    `${what}: server CPU, µs\n\n${grid([["server", ...points.map(String), "slope"], ...rows])}\n`,
  );
}

/** Returns the slope of the regression line through the logarithms. @param {readonly number[]} xs
 * @param {readonly number[]} ys */
function slopeOf(xs, ys) {
  const known = xs.map((_, at) => at).filter((at) => Number.isFinite(ys[at]) && (ys[at] ?? 0) > 0);
  const logarithms = (/** @type {readonly number[]} */ all) =>
    known.map((at) => Math.log(all[at] ?? 1));
  const [lx, ly] = [logarithms(xs), logarithms(ys)];
  const [mx, my] = [mean(lx), mean(ly)];
  const numerator = lx.reduce((sum, x, at) => sum + (x - mx) * ((ly[at] ?? 0) - my), 0);
  return numerator / lx.reduce((sum, x) => sum + (x - mx) ** 2, 0);
}

/** @param {readonly number[]} values */
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
