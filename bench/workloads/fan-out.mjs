import { compare, withPairs } from "../rounds.mjs";
import { comparison, timeTarget } from "../report.mjs";

/** @typedef {import("../rounds.mjs").Size} Size */

const messageServers = /** @type {const} */ ([
  "doorward",
  "raw writes",
  "ws",
  "socket.io",
  "hocuspocus",
  "gorilla",
]);
const streamServers = /** @type {const} */ ([
  "doorward, streams",
  "ws",
  "socket.io",
  "hocuspocus",
  "gorilla",
]);

/** Sends messages to all connections of a session, compared with bare writes of the same bytes.
 * @param {Size} size */
export const measureFanOut = (size) =>
  withPairs(messageServers, size, async (pairs) => {
    const connections = size.count(5_000);
    for (const { generator } of pairs)
      await generator.ask("connect", { connections, perSession: connections });
    const found = await compare(pairs, size, ({ generator }) =>
      generator.ask("fanOut", { seconds: size.seconds }),
    );
    const title = `one message to ${connections} connections of a session`;
    console.log(comparison(title, "deliveries/s", "raw writes", found));
    return [timeTarget("fan-out, time of the raw writes", 1.2, found, "doorward", "raw writes")];
  });

/** Streams replies in parallel, each to 100 viewers. The application sets the rate, so only processor
 * time differs. @param {Size} size */
export const measureStreams = (size) =>
  withPairs(streamServers, size, async (pairs) => {
    const [viewers, replies, tokens] = [size.count(100), size.count(10), size.count(4_000)];
    const opened = { connections: viewers * replies, perSession: viewers };
    for (const { generator } of pairs) await generator.ask("connect", opened);
    const load = { tokens, tokensPerSecond: tokens / size.seconds };
    const found = await compare(pairs, size, ({ generator }) => generator.ask("streams", load));
    const title = `${replies} replies of ${tokens} tokens, streamed in ${size.seconds} s to ${viewers} viewers each`;
    console.log(comparison(title, "replies/s", "ws", found));
    return [];
  });
