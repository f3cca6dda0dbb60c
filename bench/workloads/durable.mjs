// Measures durable messages: total processor time, with the work that follows the load.
import { setTimeout as wait } from "node:timers/promises";
import { processorSeconds } from "../load/processor.mjs";
import { comparison, processorTarget } from "../report.mjs";
import { compare, withPairs } from "../rounds.mjs";

const connections = 50;
const warmUpMessages = 20_000;
const names = /** @type {const} */ (["doorward, stored", "ws and sqlite"]);
/** Share of a core below which a server has no work left, and how long it must stay there. */
const quietShare = 0.02;
const quietMs = 500;

/** Resolves when the work that follows the load is done: summaries, index, checkpoint.
 *  @param {number} pid */
async function whenQuiet(pid) {
  for (let before = processorSeconds(pid); ;) {
    await wait(quietMs);
    const now = processorSeconds(pid);
    if (now - before < (quietShare * quietMs) / 1_000) return;
    before = now;
  }
}

/** Echoes and stores messages, with 1 and 16 in flight. @param {import("../rounds.mjs").Size} size */
export const measureDurable = (size) =>
  withPairs(names, size, async (pairs) => {
    const targets = [];
    for (const { generator } of pairs) {
      await generator.ask("connect", { connections, perSession: 1 });
      await generator.ask("exchange", { inFlight: 16, messages: size.count(warmUpMessages) });
    }
    for (const [inFlight, aim] of /** @type {const} */ ([
      [1, 1],
      [16, 1.6],
    ])) {
      const found = await compare(pairs, size, async ({ server, generator }) => {
        await whenQuiet(server.pid);
        const before = processorSeconds(server.pid);
        const messages = size.count(60_000);
        const result = await generator.ask("exchange", { inFlight, messages });
        await whenQuiet(server.pid);
        return { ...result, server: processorSeconds(server.pid) - before };
      });
      const title = `durable echo, ${inFlight} in flight on each of ${connections} connections`;
      console.log(comparison(title, "messages/s", "ws and sqlite", found));
      const what = `durable echo, ${inFlight} in flight, in total, of ws and SQLite`;
      targets.push(processorTarget(what, aim, found, "doorward, stored", "ws and sqlite"));
    }
    return targets;
  });
