// One speaks, many hear: messages that go to everybody of a session, and answers that grow.
import { askForStream, lastToken } from "../settings.mjs";
import { watch } from "./processor.mjs";
import { wires } from "./wires.mjs";

/** @typedef {import("./talk.mjs").Target} Target */
/** @typedef {import("./talk.mjs").Result} Result */

/** Deliveries of messages to a session in which all clients are: the next is sent when all have heard the last.
 * @param {Target & { seconds: number }} load @returns {Promise<Result>} */
export function fanOut({ wire, pid, clients, seconds }) {
  const [speaker] = clients;
  if (!speaker) return Promise.reject(new Error("nobody is there to speak"));
  const message = wires[wire].message("hello, everybody", speaker.session);
  return new Promise((resolve) => {
    let missing = 0;
    let done = -clients.length; // the first one is the warm-up
    let { spent, isOver } = watch(pid);
    const speak = () => {
      missing = clients.length;
      speaker.socket.write(message);
    };
    const heard = (/** @type {number} */ frames) => {
      missing -= frames;
      if (missing > 0) return;
      done += clients.length;
      if (done === 0) ({ spent, isOver } = watch(pid, seconds));
      if (isOver()) resolve({ done, ...spent() });
      else speak();
    };
    for (const client of clients) client.heard = heard;
    speak();
  });
}

/** A streamed answer in every session; done: answers that all viewers have seen to their end.
 * @param {Target & { tokens: number, tokensPerSecond: number }} load @returns {Promise<Result>} */
export function streams({ wire, pid, clients, tokens, tokensPerSecond }) {
  const speakers = new Map(clients.map((client) => [client.session, client]));
  const end = Buffer.from(lastToken);
  const { spent } = watch(pid);
  return new Promise((resolve) => {
    let missing = clients.length;
    for (const client of clients) {
      client.heard = () => undefined;
      let tail = Buffer.alloc(0);
      client.read = (bytes) => {
        const seam = Buffer.concat([tail, bytes.subarray(0, end.length)]);
        const isEnd = bytes.includes(end) || seam.includes(end);
        tail = Buffer.from((bytes.length < end.length ? seam : bytes).subarray(-end.length));
        if (!isEnd) return;
        client.read = undefined;
        if ((missing -= 1) === 0) resolve({ done: speakers.size, ...spent() });
      };
    }
    const ask = `${askForStream}${tokens} ${tokensPerSecond}`;
    for (const { socket, session } of speakers.values())
      socket.write(wires[wire].message(ask, session));
  });
}
