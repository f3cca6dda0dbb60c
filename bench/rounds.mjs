// Measures several servers in turn, so that a slow moment of the machine affects all of them.
import { startGenerator } from "./load/index.mjs";
import { isDoorward, missingReason, startServer } from "./servers.mjs";

/**
 * @typedef {object} Size How much is measured
 * @property {number} rounds Measured rounds of each server
 * @property {number} seconds Processor seconds of one round
 * @property {(full: number) => number} count Scales a number of connections or messages
 * @property {readonly string[] | undefined} peers Peers to compare with; undefined: all
 * @property {number} deadline Of the whole run. Later rounds are skipped, except the first
 * @property {Version | undefined} against Another commit of Doorward to compare with
 *
 * @typedef {object} Version
 * @property {string} commit Abbreviated
 * @property {string} root Folder of its built working tree
 *
 * @typedef {object} Contestant
 * @property {import("./servers.mjs").Name} name
 * @property {string} label Unique in the comparison
 * @property {string | undefined} root Folder of another version of Doorward
 * @property {string | undefined} against Label of the contestant that is its other version
 *
 * @typedef {object} Sample Result of one round
 * @property {number} rate Operations per second
 * @property {number} cost Microseconds of processor time of the server per operation; 0: unknown
 * @property {number} busy Share of the time in which the load generator used its core
 *
 * @typedef {object} Series
 * @property {string} name
 * @property {string | undefined} [against]
 * @property {Sample[]} samples
 *
 * @typedef {object} Pair
 * @property {import("./servers.mjs").Server} server
 * @property {import("./load/index.mjs").Generator} generator
 * @property {string | undefined} against
 */

/** @param {import("./load/echo.mjs").Result} result @returns {Sample} */
export const sampleOf = ({ done, seconds, server, own }) => ({
  rate: done / seconds,
  cost: (server / done) * 1e6,
  busy: own / seconds,
});

/** Returns the servers that can take part, and prints why others cannot.
 * @param {readonly import("./servers.mjs").Name[]} names @param {Size} size
 * @returns {Contestant[]} */
export function contestants(names, { peers, against }) {
  return names.flatMap((name) => {
    if (peers && !isDoorward(name) && !peers.includes(name)) return [];
    const reason = missingReason(name);
    if (reason !== undefined) {
      console.log(`  without ${name}: ${reason}`);
      return [];
    }
    /** @type {Contestant} */
    const current = { name, label: name, root: undefined, against: undefined };
    if (!isDoorward(name) || !against) return [current];
    const label = `${name}, ${against.commit}`;
    return [
      { ...current, against: label },
      { name, label, root: against.root, against: undefined },
    ];
  });
}

/** Measures each pair in turn.
 * @param {readonly Pair[]} pairs @param {Size} size
 * @param {(pair: Pair) => Promise<import("./load/echo.mjs").Result>} measure
 * @returns {Promise<Series[]>} */
export async function compare(pairs, { rounds, deadline }, measure) {
  const each = pairs.map((pair) => async () => sampleOf(await measure(pair)));
  const samples = await interleave(rounds, each, deadline);
  return pairs.map(({ server, against }, at) => ({
    name: server.name,
    against,
    samples: samples[at] ?? [],
  }));
}

/** Starts the servers, each with its own load generator, and stops them after use.
 * @template T @param {readonly import("./servers.mjs").Name[]} names @param {Size} size
 * @param {(pairs: readonly Pair[]) => Promise<T>} use */
export const withPairs = (names, size, use) => withContestants(contestants(names, size), use);

/** @template T @param {readonly Contestant[]} all @param {(pairs: readonly Pair[]) => Promise<T>} use */
export async function withContestants(all, use) {
  const starting = await Promise.allSettled(all.map(startPair));
  const pairs = starting.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
  try {
    for (const each of starting) if (each.status === "rejected") throw each.reason;
    return await use(pairs);
  } finally {
    await Promise.all(pairs.map(stopPair));
  }
}

/** @param {Contestant} contestant @returns {Promise<Pair>} */
async function startPair({ name, label, root, against }) {
  const server = { ...(await startServer(name, { root })), name: label };
  try {
    return { server, generator: await startGenerator(server), against };
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

/** Runs each measurement once as warm-up, unless there is only one round, and then all in turn.
 * @template T @param {number} rounds @param {readonly (() => Promise<T>)[]} measurements
 * @param {number} [deadline]
 * @returns {Promise<T[][]>} The results of each measurement */
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
