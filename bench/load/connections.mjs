import { connect } from "node:net";
import { createCounter, closeFrame } from "./frames.mjs";
import { protocols } from "./protocols.mjs";

/**
 * @typedef {object} Client
 * @property {import("node:net").Socket} socket
 * @property {string | undefined} session
 * @property {(frames: number) => void} onFrames Called with the number of messages received
 * @property {((bytes: Buffer) => void) | undefined} onBytes Called with each chunk received
 * @typedef {object} ConnectOptions
 * @property {keyof typeof protocols} protocol
 * @property {number} port
 * @property {string} [session]
 */

/** Shared by all sockets: each chunk is processed before the next read. */
const buffer = Buffer.allocUnsafe(64 * 1024);
/** Each address has about 28,000 ports, and a closed connection occupies its port for a minute. */
const addresses = 250;
let opened = 0;

/** Opens a WebSocket and sends the greetings of its protocol. Rejects with the response of the server
 * if that is not 101.
 * @param {ConnectOptions} options @returns {Promise<Client>} */
export function open({ protocol: name, port, session }) {
  const protocol = protocols[name];
  const steps = protocol.greetings(session);
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
    const client = { socket, session, onFrames: advance, onBytes: undefined };
    const count = createCounter({
      onFrames: (frames) => client.onFrames(frames),
      onPing: (pong) => void socket.write(pong),
      onClose: (outcome) =>
        socket.destroy(new Error(`the server closed the connection: ${outcome}`)),
    });
    function take(/** @type {Buffer} */ bytes, /** @type {number} */ length) {
      client.onBytes?.(bytes.subarray(0, length));
      count(bytes, length);
    }
    function greet(/** @type {Buffer} */ bytes) {
      answer += bytes.toString("latin1");
      const end = answer.indexOf("\r\n\r\n");
      if (end < 0) return;
      if (!answer.startsWith("HTTP/1.1 101 "))
        return socket.destroy(new Error(`the server answered ${answer.slice(0, 300)}`));
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
    socket.on("connect", () => socket.write(protocol.request(port, session)));
    socket.on("error", fail);
    socket.on("close", () => fail(new Error("the connection was closed before the response")));
  });
}

/** Opens connections until there are `total`, 64 at a time.
 * @param {Client[]} clients @param {number} total
 * @param {(index: number) => ConnectOptions} optionsOf */
export async function openMany(clients, total, optionsOf) {
  let next = clients.length;
  const work = async () => {
    while (next < total) clients.push(await open(optionsOf(next++)));
  };
  await Promise.all(Array.from({ length: 64 }, work));
}

/** Sends a close frame and resolves when the socket is closed. @param {Client} client
 * @returns {Promise<void>} */
export const close = ({ socket }) =>
  new Promise((done) => {
    socket.on("close", () => done());
    socket.end(closeFrame);
  });
