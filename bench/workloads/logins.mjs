import { compare, withPairs } from "../compare.mjs";
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

const [ours, bare, dutiful] = /** @type {const} */ ([
  "doorward, sign-in",
  "fastify, bare",
  "fastify, cookie and log",
]);

/** Right sign-ins over kept connections: the token is compared, a session begins, a signed cookie is set.
 * @param {import("../compare.mjs").Size} size */
export const measureLogins = (size) =>
  withPairs([ours, bare, dutiful], { ...size, peers: undefined }, async (pairs) => {
    const found = await compare(pairs, size, ({ server, generator }) => {
      const load = { request: request(server.port), status: 200, busy: 16, seconds: size.seconds };
      return generator.ask("requests", load);
    });
    console.log(comparison("sign-ins", "requests/s", bare, found));
    return [rateTarget("sign-ins, of a bare Fastify route", 0.7, found, ours, bare)];
  });
