import { compare, withPairs } from "../compare.mjs";
import { comparison, timeTarget } from "../report.mjs";

/** @typedef {import("../compare.mjs").Size} Size */

const heard = /** @type {const} */ ([
  "doorward",
  "raw writes",
  "ws",
  "socket.io",
  "hocuspocus",
  "gorilla",
]);
const streamed = /** @type {const} */ ([
  "doorward, streams",
  "ws",
  "socket.io",
  "hocuspocus",
  "gorilla",
]);

/** One message to everybody of one session, beside the bare writes of it. @param {Size} size */
export const measureFanOut = (size) =>
  withPairs(heard, size, async (pairs) => {
    const connections = size.count(5_000);
    for (const { generator } of pairs)
      await generator.ask("grow", { connections, perSession: connections });
    const found = await compare(pairs, size, ({ generator }) =>
      generator.ask("fanOut", { seconds: size.seconds }),
    );
    const title = `one message to ${connections} connections of a session`;
    console.log(comparison(title, "deliveries/s", "raw writes", found));
    return [timeTarget("fan-out, time of the raw writes", 1.2, found, "doorward", "raw writes")];
  });

/** Answers that are streamed side by side, each to a hundred viewers. The pace is the application's: what differs is
 * processor time. @param {Size} size */
export const measureStreams = (size) =>
  withPairs(streamed, size, async (pairs) => {
    const [viewers, answers, tokens] = [size.count(100), size.count(10), size.count(4_000)];
    const room = { connections: viewers * answers, perSession: viewers };
    for (const { generator } of pairs) await generator.ask("grow", room);
    const load = { tokens, tokensPerSecond: tokens / size.seconds };
    const found = await compare(pairs, size, ({ generator }) => generator.ask("streams", load));
    const title = `${answers} answers of ${tokens} tokens, streamed in ${size.seconds} s to ${viewers} viewers each`;
    console.log(comparison(title, "answers/s", "ws", found));
    return [];
  });
