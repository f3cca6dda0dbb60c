import { setTimeout as wait } from "node:timers/promises";
import { contestants, interleave, withContestants } from "../rounds.mjs";
import { processorSeconds } from "../load/processor.mjs";
import { maxOpenFiles } from "../machine.mjs";
import { figure, grid, median, ratios, spread, times } from "../report.mjs";

/** @typedef {{ kibibytes: number, work: number }} Idle Memory of a connection, and microseconds of
 *  processor time per second */

const oneDigit = (/** @type {number} */ value) => value.toFixed(1);
const spare = 200;
const aimedAt = 10_000;

/** Measures the memory of idle connections: resident memory after a garbage collection, without the
 * server's own. @param {import("../rounds.mjs").Size} size */
export async function measureIdle(size) {
  const counts = [1_000, 5_000, aimedAt, 18_000]
    .map(size.count)
    .filter((count) => count + spare <= maxOpenFiles());
  const servers = contestants(["doorward", "ws", "socket.io", "hocuspocus", "gorilla"], size);
  const names = servers.map(({ label }) => label);
  // Memory needs no warm-up, unlike speed.
  const found = await interleave(
    size.rounds,
    servers.map((server) => () => measureServer(server, counts, size)),
    size.deadline,
  );
  const at = (/** @type {string} */ name, /** @type {number} */ step) =>
    (found[names.findIndex((each) => each === name)] ?? []).map(
      (run) => run[step] ?? { kibibytes: 0, work: 0 },
    );
  const memory = (/** @type {string} */ name, /** @type {number} */ step) =>
    at(name, step).map(({ kibibytes }) => kibibytes);
  const rows = names.map((name) => [
    name,
    ...counts.flatMap((_, step) => [
      spread(memory(name, step), oneDigit),
      times(median(ratios(memory(name, step), memory("ws", step)))),
    ]),
    figure(median(at(name, counts.length - 1).map(({ work }) => work))),
  ]);
  const last = `CPU a second, µs each of ${counts.at(-1)}`;
  const head = ["server", ...counts.flatMap((count) => [`KiB each of ${count}`, "of ws"]), last];
  const title = `memory of an idle connection; min / median / max of ${found[0]?.length}`;
  console.log(`${title}\n\n${grid([head, ...rows])}\n`);
  const step = counts.indexOf(size.count(aimedAt));
  const values = ratios(memory("doorward", step), memory("ws", step));
  const what = `memory of an idle connection at ${counts[step]}, of bare ws`;
  return [{ what, aim: 1.3, bound: /** @type {const} */ ("at most"), values, unit: "x" }];
}

/** Measures one server at each number of connections.
 * @param {import("../rounds.mjs").Contestant} contestant @param {readonly number[]} counts
 * @param {import("../rounds.mjs").Size} size */
const measureServer = (contestant, counts, size) =>
  withContestants([contestant], async ([pair]) => {
    if (!pair) return [];
    const { server, generator } = pair;
    // The first connections compile code and grow the heap, which does not belong to a connection.
    await generator.ask("handshakes", { concurrency: 16, seconds: 2, atMost: size.count(1_000) });
    const before = await server.memory();
    /** @type {Idle[]} */
    const each = [];
    for (const connections of counts) {
      await generator.ask("connect", { connections });
      const kibibytes = ((await server.memory()) - before) / 1_024 / connections;
      const began = { worked: processorSeconds(server.pid), at: performance.now() };
      if (connections === counts.at(-1)) await wait(size.seconds * 1_000);
      const worked =
        (processorSeconds(server.pid) - began.worked) / ((performance.now() - began.at) / 1_000);
      each.push({ kibibytes, work: (worked / connections) * 1e6 });
    }
    return each;
  });
