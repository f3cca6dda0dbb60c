// Handshakes and plain requests, each as fast as the one before is answered.
import { connect } from "node:net";
import { watch } from "./processor.mjs";
import { leave, open } from "./sockets.mjs";

/** @typedef {import("./talk.mjs").Result} Result */

/** Connections that are opened until they could be used, and closed, so many at a time. `atMost` ends it early: each
 * closed one holds an address and port for a minute.
 * @param {{ pid: number, wire: import("./wires.mjs").WireName, port: number,
 *   busy: number, seconds: number, atMost: number }} load @returns {Promise<Result>} */
export async function handshakes({ pid, wire, port, busy, seconds, atMost }) {
  let done = 0;
  const { spent, isOver } = watch(pid, seconds);
  const visit = async () => {
    while (!isOver() && done < atMost) {
      await leave(await open({ wire, port }));
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: busy }, visit));
  return { done, ...spent() };
}

/** Requests on kept connections, one of each on its way; each must be answered with the status.
 * @param {{ pid: number, port: number, request: string, status: number, busy: number, seconds?: number,
 *   total?: number }} load `{n}` in the request is a number of eight digits, another one each time
 * @returns {Promise<Result>} */
export function requests({
  pid,
  port,
  request,
  status,
  busy,
  seconds,
  total = Number.POSITIVE_INFINITY,
}) {
  const [before = "", after = ""] = request.split("{n}");
  const isSame = !request.includes("{n}");
  const prepared = Buffer.from(request);
  const next = (/** @type {number} */ n) =>
    isSame ? prepared : Buffer.from(`${before}${String(n).padStart(8, "0")}${after}`);
  return new Promise((resolve, reject) => {
    let asked = 0;
    let done = 0;
    const { spent, isOver } = watch(pid, seconds);
    for (let at = 0; at < busy; at++) {
      const socket = connect({ port, host: "127.0.0.1", noDelay: true });
      let left = "";
      const ask = () => void socket.write(next(asked++));
      socket.on("connect", ask);
      socket.on("data", (chunk) => {
        left += chunk.toString("latin1");
        const end = left.indexOf("\r\n\r\n");
        if (end < 0) return;
        const length = Number(/\r\ncontent-length: *(\d+)/i.exec(left.slice(0, end))?.[1] ?? 0);
        if (left.length < end + 4 + length) return;
        if (!left.startsWith(`HTTP/1.1 ${status} `))
          return reject(new Error(`answered ${left.slice(0, 300)}`));
        left = "";
        done += 1;
        if (asked < total && !isOver()) ask();
        else socket.destroy();
      });
      socket.on("error", reject);
      socket.on("close", () => {
        if (done === asked) resolve({ done, ...spent() });
      });
    }
  });
}
