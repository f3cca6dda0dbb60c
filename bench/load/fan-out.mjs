// One-to-many load: messages to all connections of a session, and streamed replies.
import { askForStream, lastToken } from "../settings.mjs";
import { stopwatch } from "./processor.mjs";
import { protocols } from "./protocols.mjs";

/** @typedef {import("./echo.mjs").Target} Target */
/** @typedef {import("./echo.mjs").Result} Result */

/** Sends messages to a session that all clients belong to. The next message follows when all clients
 * have received the last one; `done` counts deliveries.
 * @param {Target & { seconds: number }} load @returns {Promise<Result>} */
export function fanOut({ protocol, pid, clients, seconds }) {
  const [sender] = clients;
  if (!sender) return Promise.reject(new Error("no connection is open"));
  const message = protocols[protocol].message("hello, all clients", sender.session);
  return new Promise((resolve) => {
    let missing = 0;
    let done = -clients.length; // the first message is the warm-up
    let { usage, isOver } = stopwatch(pid);
    const send = () => {
      missing = clients.length;
      sender.socket.write(message);
    };
    const onFrames = (/** @type {number} */ frames) => {
      missing -= frames;
      if (missing > 0) return;
      done += clients.length;
      if (done === 0) ({ usage, isOver } = stopwatch(pid, seconds));
      if (isOver()) resolve({ done, ...usage() });
      else send();
    };
    for (const client of clients) client.onFrames = onFrames;
    send();
  });
}

/** Requests a streamed reply in each session. `done` counts replies that all viewers received to
 * their end.
 * @param {Target & { tokens: number, tokensPerSecond: number }} load @returns {Promise<Result>} */
export function streams({ protocol, pid, clients, tokens, tokensPerSecond }) {
  const senders = new Map(clients.map((client) => [client.session, client]));
  const end = Buffer.from(lastToken);
  const { usage } = stopwatch(pid);
  return new Promise((resolve) => {
    let missing = clients.length;
    for (const client of clients) {
      client.onFrames = () => undefined;
      let tail = Buffer.alloc(0);
      client.onBytes = (bytes) => {
        const seam = Buffer.concat([tail, bytes.subarray(0, end.length)]);
        const isEnd = bytes.includes(end) || seam.includes(end);
        tail = Buffer.from((bytes.length < end.length ? seam : bytes).subarray(-end.length));
        if (!isEnd) return;
        client.onBytes = undefined;
        if ((missing -= 1) === 0) resolve({ done: senders.size, ...usage() });
      };
    }
    const request = `${askForStream}${tokens} ${tokensPerSecond}`;
    for (const { socket, session } of senders.values())
      socket.write(protocols[protocol].message(request, session));
  });
}
