import { interleave, present, withPairs } from "../compare.mjs";
import { mostFiles } from "../machine.mjs";
import { grid, median, ratios, spread, times } from "../report.mjs";

const kibibytes = (/** @type {number} */ value) => value.toFixed(1);
const spare = 200;
const aimedAt = 10_000;

/** What a connection on which nothing happens holds: resident memory beyond that of the server alone, after a
 * collection. @param {import("../compare.mjs").Size} size */
export async function measureIdle(size) {
  const counts = [1_000, 5_000, aimedAt, 18_000].map(size.count).filter((count) => count + spare <= mostFiles());
  const names = present(/** @type {const} */ (["doorward", "ws", "socket.io", "hocuspocus", "gorilla"]), size);
  // What a server keeps does not change from run to run as its speed does: no warm-up.
  const found = await interleave(size.rounds, names.map((name) => () => growing(name, counts, size)), size.deadline);
  const at = (/** @type {string} */ name, /** @type {number} */ step) =>
    (found[names.findIndex((each) => each === name)] ?? []).map((run) => run[step] ?? Number.NaN);
  const rows = names.map((name) => [name, ...counts.flatMap((_, step) => {
    return [spread(at(name, step), kibibytes), times(median(ratios(at(name, step), at("ws", step))))];
  })]);
  const head = ["server", ...counts.flatMap((count) => [`KiB each of ${count}`, "of ws"])];
  const title = `memory of an idle connection; least / median / greatest of ${found[0]?.length}`;
  console.log(`${title}\n\n${grid([head, ...rows])}\n`);
  const step = counts.indexOf(size.count(aimedAt));
  const values = ratios(at("doorward", step), at("ws", step));
  const what = `memory of an idle connection at ${counts[step]}, of bare ws`;
  return [{ what, aim: 1.3, bound: /** @type {const} */ ("at most"), values, unit: "x" }];
}

/** KiB for each connection at each of the numbers.
 * @param {import("../servers.mjs").Name} name @param {readonly number[]} counts
 * @param {import("../compare.mjs").Size} size */
const growing = (name, counts, size) =>
  withPairs([name], size, async ([pair]) => {
    if (!pair) return [];
    const { server, generator } = pair;
    // What the first ones bring about is no part of a connection: compiled code, tables, a grown heap.
    await generator.ask("handshakes", { busy: 16, seconds: 2, atMost: size.count(1_000) });
    const before = await server.memory();
    const each = [];
    for (const connections of counts) {
      await generator.ask("grow", { connections });
      each.push(((await server.memory()) - before) / 1_024 / connections);
    }
    return each;
  });
