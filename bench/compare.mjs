// Several servers under the same load, in turn, so that a slow moment of the machine hits them all
// alike.
import { startGenerator } from "./load/index.mjs";
import { absence, startServer } from "./servers.mjs";

/**
 * @typedef {object} Size how much is done
 * @property {number} rounds measured runs of each server
 * @property {number} seconds of one run
 * @property {(full: number) => number} count scales a number of connections or messages
 * @property {readonly string[] | undefined} peers those to compare with; undefined: all
 * @property {number} deadline of the whole run; then rounds are left out, the first one never
 *
 * @typedef {object} Sample of one run
 * @property {number} rate units per second
 * @property {number} cost microseconds of processor time of the server for a unit; 0: unknown
 * @property {number} busy share of its time in which the generator was at work
 *
 * @typedef {object} Series
 * @property {string} name
 * @property {Sample[]} samples
 *
 * @typedef {{ server: import("./servers.mjs").Server, generator: import("./load/index.mjs").Generator }} Pair
 */

/** @param {import("./load/talk.mjs").Result} result @returns {Sample} */
export const sampleOf = ({ done, seconds, server, own }) => ({
  rate: done / seconds,
  cost: (server / done) * 1e6,
  busy: own / seconds,
});

/** Those of them that can take part; who cannot is named with the reason.
 * @template {import("./servers.mjs").Name} N @param {readonly N[]} names @param {Size} size @returns {N[]} */
export function present(names, { peers }) {
  return names.filter((name) => {
    if (peers && !name.startsWith("doorward") && !peers.includes(name)) return false;
    const reason = absence(name);
    if (reason !== undefined) console.log(`  without ${name}: ${reason}`);
    return reason === undefined;
  });
}

/** Measures each of them in turn.
 * @param {readonly Pair[]} pairs @param {Size} size
 * @param {(pair: Pair) => Promise<import("./load/talk.mjs").Result>} measure @returns {Promise<Series[]>} */
export async function compare(pairs, { rounds, deadline }, measure) {
  const each = pairs.map((pair) => async () => sampleOf(await measure(pair)));
  const samples = await interleave(rounds, each, deadline);
  return pairs.map(({ server }, at) => ({ name: server.name, samples: samples[at] ?? [] }));
}

/** Starts the servers, each with a load generator of its own, and stops them after use.
 * @template T @param {readonly import("./servers.mjs").Name[]} names @param {Size} size
 * @param {(pairs: readonly Pair[]) => Promise<T>} use */
export async function withPairs(names, size, use) {
  const starting = await Promise.allSettled(present(names, size).map(startPair));
  const pairs = starting.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
  try {
    for (const each of starting) if (each.status === "rejected") throw each.reason;
    return await use(pairs);
  } finally {
    await Promise.all(pairs.map(stopPair));
  }
}

/** @param {import("./servers.mjs").Name} name @returns {Promise<Pair>} */
async function startPair(name) {
  const server = await startServer(name);
  try {
    return { server, generator: await startGenerator(server) };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** @param {Pair} pair */
async function stopPair({ server, generator }) {
  await generator.stop();
  await server.stop();
}

/** Runs each measurement once as warm-up (unless there is but one round), then all in turn.
 * @template T @param {number} rounds @param {readonly (() => Promise<T>)[]} measurements @param {number} [deadline]
 * @returns {Promise<T[][]>} what each of them found */
export async function interleave(rounds, measurements, deadline = Number.POSITIVE_INFINITY) {
  if (rounds > 1) for (const measure of measurements) await measure();
  /** @type {T[][]} */
  const found = measurements.map(() => []);
  for (let round = 0; round < rounds; round++) {
    if (round > 0 && performance.now() > deadline) break;
    for (const [at, measure] of measurements.entries()) found[at]?.push(await measure());
  }
  return found;
}
