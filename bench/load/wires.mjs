// What each kind of server wants to hear: the request, what opens a conversation, and a message in
// it.
import { picoToken, storeKind } from "../settings.mjs";
import { frame } from "./frames.mjs";

/**
 * @typedef {object} Wire
 * @property {(port: number, session?: string) => string} request the upgrade
 * @property {(session?: string) => readonly (Buffer | undefined)[]} greetings what is sent after the answer, after the
 *   first frame, and so on; the connection is ready when the last of these has had its turn
 * @property {(content: string, session?: string) => Buffer} message
 * @property {number} answers frames for each message
 * @property {string} [unique] what must be new in each message: digits of the same length
 */

/** @param {string} target @param {number} port */
const upgrade = (target, port) =>
  [
    `GET ${target} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    `Authorization: Bearer ${picoToken}`,
    "",
    "",
  ].join("\r\n");

/** The Pico Protocol: a message is one JSON object. @param {string} content */
const send = (content) =>
  frame(JSON.stringify({ type: "message.send", id: "1", payload: { content } }));

/** @type {Wire} */
const pico = {
  request: (port, session) =>
    upgrade(session === undefined ? "/pico" : `/pico?session_id=${session}`, port),
  greetings: () => [undefined],
  message: (content) => send(content),
  answers: 1,
};

const unique = "00000000";

/** The same with the extension: nothing is lost, so that each message has an id and its
 * acknowledgement, and in a store also its number.
 * @type {Wire} */
const picoExtended = {
  request: (port, session) =>
    upgrade(`/pico?pico_ext=1${session === undefined ? "" : `&session_id=${session}`}`, port),
  greetings: () => [undefined, undefined],
  message: (content) =>
    frame(JSON.stringify({ type: "message.send", id: unique, payload: { content } })),
  answers: storeKind === "memory" ? 2 : 3,
  unique,
};

/** Engine.IO 4 over a WebSocket from the start; its packets are text. @type {Wire} */
const socketIo = {
  request: (port, session) => {
    const query = session === undefined ? "" : `&session_id=${session}`;
    return upgrade(`/socket.io/?EIO=4&transport=websocket${query}`, port);
  },
  greetings: () => [undefined, frame("40"), undefined],
  message: (content) =>
    frame(`42${JSON.stringify(["m", { type: "message.send", id: "1", payload: { content } }])}`),
  answers: 1,
};

const binary = 2;

/** A string as Yjs writes it: its bytes behind their number, seven bits at a time. @param
 *  {string} text */
function varString(text) {
  const bytes = Buffer.from(text);
  const length = [];
  let left = bytes.length;
  for (; left > 127; left >>= 7) length.push(0x80 | (left & 127));
  return Buffer.concat([Buffer.from([...length, left]), bytes]);
}

/** Hocuspocus 3: every message names its document; "stateless" ones are the application's own.
 *  @type {Wire} */
const hocuspocus = {
  request: (port) => upgrade("/", port),
  greetings: (session = "alone") => {
    const [auth, token] = [2, 0];
    const hello = Buffer.concat([
      varString(session),
      Buffer.from([auth, token]),
      varString(picoToken),
    ]);
    return [frame(hello, binary), undefined];
  },
  message: (content, session = "alone") => {
    const stateless = 5;
    const text = JSON.stringify({ type: "message.send", id: "1", payload: { content } });
    return frame(
      Buffer.concat([varString(session), Buffer.from([stateless]), varString(text)]),
      binary,
    );
  },
  answers: 1,
};

export const wires = { pico, picoExtended, socketIo, hocuspocus };
/** @typedef {keyof typeof wires} WireName */
