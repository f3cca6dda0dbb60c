import { compare, withPairs } from "../compare.mjs";
import { comparison, rateTarget } from "../report.mjs";

/** @typedef {import("../compare.mjs").Size} Size */

const connections = 50;
const all = /** @type {const} */ ([
  "doorward",
  "doorward, extension",
  "ws",
  "socket.io",
  "hocuspocus",
  "gorilla",
]);

/** Messages answered each second, one and sixteen of each connection on their way. @param {Size}
 *  size */
export const measureEcho = (size) =>
  withPairs(all, size, async (pairs) => {
    const targets = [];
    for (const { generator } of pairs) await generator.ask("grow", { connections, perSession: 1 });
    for (const [inFlight, aim] of /** @type {const} */ ([
      [1, 1.2],
      [16, 2.5],
    ])) {
      const found = await compare(pairs, size, ({ generator }) =>
        generator.ask("talk", { inFlight, seconds: size.seconds }),
      );
      const title = `echo, ${inFlight} in flight on each of ${connections} connections`;
      console.log(comparison(title, "messages/s", "ws", found));
      targets.push(
        rateTarget(`echo, ${inFlight} in flight, of bare ws`, aim, found, "doorward", "ws"),
      );
    }
    return targets;
  });

/** As many sessions, each of one connection. @param {Size} size */
export const measureSessions = (size) =>
  withPairs(["doorward", "ws", "socket.io", "hocuspocus", "gorilla"], size, async (pairs) => {
    const sessions = size.count(1_000);
    for (const { generator } of pairs)
      await generator.ask("grow", { connections: sessions, perSession: 1 });
    const found = await compare(pairs, size, ({ generator }) =>
      generator.ask("talk", { inFlight: 1, seconds: size.seconds }),
    );
    console.log(
      comparison(
        `echo, ${sessions} sessions of one connection, 1 in flight`,
        "messages/s",
        "ws",
        found,
      ),
    );
    return [];
  });
