import { setTimeout as wait } from "node:timers/promises";
import { interleave, present, withPairs } from "../compare.mjs";
import { processorSeconds } from "../load/processor.mjs";
import { mostFiles } from "../machine.mjs";
import { figure, grid, median, ratios, spread, times } from "../report.mjs";

/** @typedef {{ kibibytes: number, work: number }} Idle of a connection; work: microseconds of
 *  processor time a second */

const oneDigit = (/** @type {number} */ value) => value.toFixed(1);
const spare = 200;
const aimedAt = 10_000;

/** What a connection on which nothing happens holds: resident memory beyond that of the server alone, after a
 * collection. @param {import("../compare.mjs").Size} size */
export async function measureIdle(size) {
  const counts = [1_000, 5_000, aimedAt, 18_000]
    .map(size.count)
    .filter((count) => count + spare <= mostFiles());
  const names = present(
    /** @type {const} */ (["doorward", "ws", "socket.io", "hocuspocus", "gorilla"]),
    size,
  );
  // What a server keeps does not change from run to run as its speed does: no warm-up.
  const found = await interleave(
    size.rounds,
    names.map((name) => () => growing(name, counts, size)),
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
  const title = `memory of an idle connection; least / median / greatest of ${found[0]?.length}`;
  console.log(`${title}\n\n${grid([head, ...rows])}\n`);
  const step = counts.indexOf(size.count(aimedAt));
  const values = ratios(memory("doorward", step), memory("ws", step));
  const what = `memory of an idle connection at ${counts[step]}, of bare ws`;
  return [{ what, aim: 1.3, bound: /** @type {const} */ ("at most"), values, unit: "x" }];
}

/** What each connection takes at each of the numbers.
 * @param {import("../servers.mjs").Name} name @param {readonly number[]} counts
 * @param {import("../compare.mjs").Size} size */
const growing = (name, counts, size) =>
  withPairs([name], size, async ([pair]) => {
    if (!pair) return [];
    const { server, generator } = pair;
    // What the first ones bring about is no part of a connection: compiled code, tables, a grown
    // heap.
    await generator.ask("handshakes", { busy: 16, seconds: 2, atMost: size.count(1_000) });
    const before = await server.memory();
    /** @type {Idle[]} */
    const each = [];
    for (const connections of counts) {
      await generator.ask("grow", { connections });
      const kibibytes = ((await server.memory()) - before) / 1_024 / connections;
      const began = { worked: processorSeconds(server.pid), at: performance.now() };
      if (connections === counts.at(-1)) await wait(size.seconds * 1_000);
      const worked =
        (processorSeconds(server.pid) - began.worked) / ((performance.now() - began.at) / 1_000);
      each.push({ kibibytes, work: (worked / connections) * 1e6 });
    }
    return each;
  });
