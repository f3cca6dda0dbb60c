// Closed-loop load of handshakes and of HTTP requests.
import { connect } from "node:net";
import { stopwatch } from "./processor.mjs";
import { close, open } from "./connections.mjs";

/** @typedef {import("./echo.mjs").Result} Result */

/** Opens connections until they are ready and closes them, `concurrency` in parallel. `atMost` ends the
 * load early, because each closed connection occupies its port for a minute.
 * @param {{ pid: number | readonly number[], protocol: import("./protocols.mjs").ProtocolName, port: number,
 *   concurrency: number, seconds: number, atMost: number }} load @returns {Promise<Result>} */
export async function handshakes({ pid, protocol, port, concurrency, seconds, atMost }) {
  let done = 0;
  const { usage, isOver } = stopwatch(pid, seconds);
  const connectRepeatedly = async () => {
    while (!isOver() && done < atMost) {
      await close(await open({ protocol, port }));
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, connectRepeatedly));
  return { done, ...usage() };
}

/** Sends requests on persistent connections, one in flight on each. Rejects if a response has another
 * status.
 * @param {{ pid: number | readonly number[], port: number, request: string, status: number, concurrency: number, seconds?: number,
 *   total?: number }} load `{n}` in the request becomes a new number of eight digits
 * @returns {Promise<Result>} */
export function requests({
  pid,
  port,
  request,
  status,
  concurrency,
  seconds,
  total = Number.POSITIVE_INFINITY,
}) {
  const [before = "", after = ""] = request.split("{n}");
  const isSame = !request.includes("{n}");
  const prepared = Buffer.from(request);
  const next = (/** @type {number} */ n) =>
    isSame ? prepared : Buffer.from(`${before}${String(n).padStart(8, "0")}${after}`);
  return new Promise((resolve, reject) => {
    let sent = 0;
    let done = 0;
    const { usage, isOver } = stopwatch(pid, seconds);
    for (let at = 0; at < concurrency; at++) {
      const socket = connect({ port, host: "127.0.0.1", noDelay: true });
      let left = "";
      const send = () => void socket.write(next(sent++));
      socket.on("connect", send);
      socket.on("data", (chunk) => {
        left += chunk.toString("latin1");
        const end = left.indexOf("\r\n\r\n");
        if (end < 0) return;
        const length = Number(/\r\ncontent-length: *(\d+)/i.exec(left.slice(0, end))?.[1] ?? 0);
        if (left.length < end + 4 + length) return;
        if (!left.startsWith(`HTTP/1.1 ${status} `))
          return reject(new Error(`the server answered ${left.slice(0, 300)}`));
        left = "";
        done += 1;
        if (sent < total && !isOver()) send();
        else socket.destroy();
      });
      socket.on("error", reject);
      socket.on("close", () => {
        if (done === sent) resolve({ done, ...usage() });
      });
    }
  });
}
