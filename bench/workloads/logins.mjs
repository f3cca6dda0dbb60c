import { compare, withPairs } from "../rounds.mjs";
import { comparison, rateTarget } from "../report.mjs";
import { launcherToken } from "../settings.mjs";

const body = JSON.stringify({ token: launcherToken });
const request = (/** @type {number} */ port) =>
  [
    "POST /login HTTP/1.1",
    `Host: 127.0.0.1:${port}`,
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    "",
    body,
  ].join("\r\n");

const [doorward, bare, complete] = /** @type {const} */ ([
  "doorward, sign-in",
  "fastify, bare",
  "fastify, cookie and log",
]);

/**
 * Requests that each server has served before the first round. V8 compiles the code of a sign-in
 * with all optimizations only after some thousand of them; a warm-up of equal time would give the
 * fastest server ten times as many as the slowest.
 */
const warmUpRequests = 16_000;

/** Signs in with the right token over persistent connections.
 * @param {import("../rounds.mjs").Size} size */
export const measureLogins = (size) =>
  withPairs([doorward, bare, complete], { ...size, peers: undefined }, async (pairs) => {
    /** @param {import("../rounds.mjs").Pair} pair @param {{ seconds?: number, total?: number }} limit */
    const send = ({ server, generator }, limit) =>
      generator.ask("requests", {
        request: request(server.port),
        status: 200,
        concurrency: 16,
        ...limit,
      });
    const total = size.rounds > 1 ? warmUpRequests : size.count(warmUpRequests);
    for (const pair of pairs) await send(pair, { total });
    const found = await compare(pairs, size, (pair) => send(pair, { seconds: size.seconds }));
    console.log(comparison("sign-ins", "requests/s", bare, found));
    return [rateTarget("sign-ins, of a bare Fastify route", 0.3, found, doorward, bare)];
  });
