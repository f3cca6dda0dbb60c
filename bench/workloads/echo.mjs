import { compare, withPairs } from "../rounds.mjs";
import { comparison, processorTarget } from "../report.mjs";

/** @typedef {import("../rounds.mjs").Size} Size */

const connections = 50;
const all = /** @type {const} */ ([
  "doorward",
  "doorward, extension",
  "ws",
  "socket.io",
  "hocuspocus",
  "gorilla",
  "bun",
]);

/** Messages that each server has echoed before the first round, for the same reason as sign-ins. */
const warmUpMessages = 400_000;

/** @param {readonly import("../rounds.mjs").Pair[]} pairs Connected. @param {Size} size */
export async function warmUp(pairs, size) {
  const messages = size.rounds > 1 ? warmUpMessages : size.count(warmUpMessages);
  for (const { generator } of pairs) await generator.ask("exchange", { inFlight: 16, messages });
}

/** Echoes messages, with 1 and 16 in flight on each connection. @param {Size} size */
export const measureEcho = (size) =>
  withPairs(all, size, async (pairs) => {
    const targets = [];
    for (const { generator } of pairs)
      await generator.ask("connect", { connections, perSession: 1 });
    await warmUp(pairs, size);
    for (const [inFlight, plain, extension] of /** @type {const} */ ([
      [1, 1.2, 1.7],
      [16, 0.65, 1.1],
    ])) {
      const found = await compare(pairs, size, ({ generator }) =>
        generator.ask("exchange", { inFlight, seconds: size.seconds }),
      );
      const title = `echo, ${inFlight} in flight on each of ${connections} connections`;
      console.log(comparison(title, "messages/s", "ws", found));
      const what = `echo, ${inFlight} in flight, processor time of bare ws`;
      targets.push(
        processorTarget(what, plain, found, "doorward", "ws"),
        processorTarget(`extension, ${what}`, extension, found, "doorward, extension", "ws"),
      );
    }
    return targets;
  });

/** Echoes messages in many sessions of one connection each. @param {Size} size */
export const measureSessions = (size) =>
  withPairs(
    ["doorward", "ws", "socket.io", "hocuspocus", "gorilla", "bun"],
    size,
    async (pairs) => {
      const sessions = size.count(1_000);
      for (const { generator } of pairs)
        await generator.ask("connect", { connections: sessions, perSession: 1 });
      const found = await compare(pairs, size, ({ generator }) =>
        generator.ask("exchange", { inFlight: 1, seconds: size.seconds }),
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
    },
  );
