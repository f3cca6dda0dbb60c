import { connect } from "node:net";
import { createCounter, farewell } from "./frames.mjs";
import { wires } from "./wires.mjs";

/**
 * @typedef {object} Client
 * @property {import("node:net").Socket} socket
 * @property {string | undefined} session
 * @property {(frames: number) => void} heard called with the messages that arrive
 * @property {((bytes: Buffer) => void) | undefined} read called with every piece that arrives
 * @typedef {object} Knock
 * @property {keyof typeof wires} wire
 * @property {number} port
 * @property {string} [session]
 */

/** One for all: what is read is looked at before the next read. */
const buffer = Buffer.allocUnsafe(64 * 1024);
/** Each address has some 28,000 ports, and a closed connection holds its own for a minute. */
const addresses = 250;
let opened = 0;

/** Opens a WebSocket and greets, in as few steps as that takes. Rejects with what the server said instead.
 * @param {Knock} knock @returns {Promise<Client>} */
export function open({ wire: name, port, session }) {
  const wire = wires[name];
  const steps = wire.greetings(session);
  const localAddress = `127.0.0.${2 + (opened++ % addresses)}`;
  return new Promise((done, fail) => {
    let answer = "";
    let step = -1;
    const callback = (/** @type {number} */ length, /** @type {Uint8Array} */ shared) => {
      const bytes = /** @type {Buffer} */ (shared);
      if (step >= 0) take(bytes, length);
      else greet(bytes.subarray(0, length));
      return true;
    };
    const socket = connect({
      port,
      host: "127.0.0.1",
      localAddress,
      noDelay: true,
      onread: { buffer, callback },
    });
    /** @type {Client} */
    const client = { socket, session, heard: advance, read: undefined };
    const count = createCounter({
      heard: (frames) => client.heard(frames),
      reply: (pong) => void socket.write(pong),
      closed: () => socket.destroy(new Error("the server said goodbye")),
    });
    function take(/** @type {Buffer} */ bytes, /** @type {number} */ length) {
      client.read?.(bytes.subarray(0, length));
      count(bytes, length);
    }
    function greet(/** @type {Buffer} */ bytes) {
      answer += bytes.toString("latin1");
      const end = answer.indexOf("\r\n\r\n");
      if (end < 0) return;
      if (!answer.startsWith("HTTP/1.1 101 "))
        return socket.destroy(new Error(`answered ${answer.slice(0, 300)}`));
      advance(1);
      const first = Buffer.from(answer.slice(end + 4), "latin1");
      if (first.length > 0) take(first, first.length);
    }
    function advance(/** @type {number} */ frames) {
      for (; frames > 0; frames -= 1) {
        const hello = steps[(step += 1)];
        if (hello) socket.write(hello);
        if (step === steps.length - 1) done(client);
      }
    }
    socket.on("connect", () => socket.write(wire.request(port, session)));
    socket.on("error", fail);
    socket.on("close", () => fail(new Error("closed before it was answered")));
  });
}

/** Opens the missing ones of so many, a few at a time.
 * @param {Client[]} clients @param {number} total @param {(index: number) => Knock} knock */
export async function openMany(clients, total, knock) {
  let next = clients.length;
  const work = async () => {
    while (next < total) clients.push(await open(knock(next++)));
  };
  await Promise.all(Array.from({ length: 64 }, work));
}

/** Says goodbye and resolves when the connection is gone. @param {Client} client @returns
 *  {Promise<void>} */
export const leave = ({ socket }) =>
  new Promise((done) => {
    socket.on("close", () => done());
    socket.end(farewell);
  });
