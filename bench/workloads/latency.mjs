import { median, grid, figure, records } from "../report.mjs";
import { interleave, sampleOf, withPairs } from "../rounds.mjs";
import { warmUp } from "./echo.mjs";

/** @typedef {import("../rounds.mjs").Size} Size */
/** @typedef {import("../rounds.mjs").Pair} Pair */

const connections = 50;
const servers = /** @type {const} */ ([
  "doorward",
  "doorward, extension",
  "ws",
  "socket.io",
  "gorilla",
  "bun",
]);
const shares = [0.5, 0.8, 0.95];

/** Rate of the messages that measure the maximum, relative to the rate with 16 in flight. */
const overload = 1.2;

/** A round of a tenth of a second (--tiny) may end before the first echo.
 * @param {number} rate */
const atLeastOne = (rate) => Math.max(1, rate);

/**
 * Measures the latency of echoes at 50 %, 80 % and 95 % of the maximum rate of each server. The maximum
 * is measured first: the rate of replies while more messages arrive than the server can answer.
 * @param {Size} size
 */
export const measureLatency = (size) =>
  withPairs(servers, size, async (pairs) => {
    for (const { generator } of pairs)
      await generator.ask("connect", { connections, perSession: 1 });
    await warmUp(pairs, size);
    const rates = await interleave(
      Math.min(3, size.rounds),
      pairs.map((pair) => () => rateOf(pair, size.seconds)),
      size.deadline,
    );
    const maxima = rates.map((samples) => atLeastOne(median(samples)));
    for (const share of shares) {
      const found = await interleave(
        size.rounds,
        pairs.map(
          (pair, at) => () => latenciesOf(pair, (maxima[at] ?? 1) * share, size.seconds * 2),
        ),
        size.deadline,
      );
      show(
        `latency at ${share * 100} % of the maximum rate`,
        pairs.map(({ server }, at) => ({
          name: server.name,
          rate: (maxima[at] ?? 0) * share,
          rounds: found[at] ?? [],
        })),
      );
    }
    return [];
  });

/**
 * With 16 in flight, a batch of replies causes the next batch of messages, which is cheaper than
 * messages at a fixed rate. So the maximum is measured at a fixed rate that is too high.
 * @param {Pair} pair @param {number} seconds
 */
async function rateOf({ generator }, seconds) {
  const { rate } = sampleOf(await generator.ask("exchange", { inFlight: 16, seconds }));
  const perSecond = atLeastOne(rate * overload);
  return sampleOf(await generator.ask("latency", { perSecond, seconds })).rate;
}

/** @param {Pair} pair @param {number} perSecond @param {number} seconds */
async function latenciesOf({ generator }, perSecond, seconds) {
  const { latencies, delay } = await generator.ask("latency", { perSecond, seconds });
  return [...latencies, delay];
}

/** @param {string} title
 * @param {readonly { name: string, rate: number, rounds: readonly number[][] }[]} all */
function show(title, all) {
  const rows = all.map(({ name, rate, rounds }) => {
    const [p50 = 0, p99 = 0, p999 = 0, max = 0, delay = 0] = [0, 1, 2, 3, 4].map((at) =>
      median(rounds.map((round) => round[at] ?? 0)),
    );
    return { server: name, values: { rate, p50, p99, p999, max, delay } };
  });
  records.push({ title, unit: "ms", rows });
  const head = [
    "server",
    "messages/s",
    "p50, ms",
    "p99, ms",
    "p99.9, ms",
    "max, ms",
    "load delay p99, ms",
  ];
  const lines = rows.map(({ server, values }) => [server, ...Object.values(values).map(figure)]);
  console.log(
    `${title}; medians of ${all[0]?.rounds.length} rounds\n\n${grid([head, ...lines])}\n`,
  );
}
