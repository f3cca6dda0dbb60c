// The bytes that each kind of server expects: the upgrade request, the greetings and a message.
import { picoToken, storeKind } from "../settings.mjs";
import { frame } from "./frames.mjs";

/**
 * @typedef {object} Protocol
 * @property {(port: number, session?: string) => string} request Returns the upgrade request
 * @property {(session?: string) => readonly (Buffer | undefined)[]} greetings The first is sent after
 *   the upgrade, each other one after another frame of the server; after the last one the connection
 *   is ready
 * @property {(content: string, session?: string) => Buffer} message
 * @property {number} answers Frames that the server sends for each message
 * @property {string} [unique] Digits that must be different in each message
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

/** @type {Protocol} */
const pico = {
  request: (port, session) =>
    upgrade(session === undefined ? "/pico" : `/pico?session_id=${session}`, port),
  greetings: () => [undefined],
  message: (content) => send(content),
  answers: 1,
};

const unique = "00000000";

/** Pico with the extension: each message has an id and an acknowledgement, and with a store also its
 * row `message.user`.
 * @type {Protocol} */
const picoExtended = {
  request: (port, session) =>
    upgrade(`/pico?pico_ext=1${session === undefined ? "" : `&session_id=${session}`}`, port),
  greetings: () => [undefined, undefined],
  message: (content) =>
    frame(JSON.stringify({ type: "message.send", id: unique, payload: { content } })),
  answers: storeKind === "memory" ? 2 : 3,
  unique,
};

/** Pico with the extension and a shared store, which adds the row `message.user`. @type {Protocol} */
const picoStored = { ...picoExtended, answers: 3 };

/** Engine.IO 4 without HTTP long-polling. Its packets are text. @type {Protocol} */
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

/** Encodes a string as Yjs does: its length in groups of seven bits, then its bytes.
 * @param {string} text */
function varString(text) {
  const bytes = Buffer.from(text);
  const length = [];
  let left = bytes.length;
  for (; left > 127; left >>= 7) length.push(0x80 | (left & 127));
  return Buffer.concat([Buffer.from([...length, left]), bytes]);
}

/** Hocuspocus 3. Each message names its document; "stateless" messages belong to the application.
 * @type {Protocol} */
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

export const protocols = { pico, picoExtended, picoStored, socketIo, hocuspocus };
/** @typedef {keyof typeof protocols} ProtocolName */
