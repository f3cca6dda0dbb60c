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

/** Signs in with the right token over persistent connections.
 * @param {import("../rounds.mjs").Size} size */
export const measureLogins = (size) =>
  withPairs([doorward, bare, complete], { ...size, peers: undefined }, async (pairs) => {
    const found = await compare(pairs, size, ({ server, generator }) => {
      const load = {
        request: request(server.port),
        status: 200,
        concurrency: 16,
        seconds: size.seconds,
      };
      return generator.ask("requests", load);
    });
    console.log(comparison("sign-ins", "requests/s", bare, found));
    return [rateTarget("sign-ins, of a bare Fastify route", 0.3, found, doorward, bare)];
  });
