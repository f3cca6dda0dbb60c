// A hand-written durable server of ws and SQLite: all messages of one turn of the event loop, and
// their replies, are stored in one transaction before anything is sent. Ids are unique per session.
// With "message.ack" it is what an engineer writes in an afternoon instead of using Doorward.
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire, isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { WebSocketServer } from "ws";
import { answer, newId } from "./answer.mjs";

const driver = isBuiltin("node:sqlite") ? "node:sqlite" : "@photostructure/sqlite";
const { DatabaseSync } = createRequire(import.meta.url)(driver);
const folder = mkdtempSync(path.join(tmpdir(), "doorward-peer-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const database = new DatabaseSync(path.join(folder, "messages.db"));
database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
  CREATE TABLE message(session TEXT, seq INTEGER, body TEXT, PRIMARY KEY(session, seq)) WITHOUT ROWID;
  CREATE TABLE taken(session TEXT, id TEXT, PRIMARY KEY(session, id)) WITHOUT ROWID;`);
const insert = database.prepare("INSERT INTO message VALUES (?, ?, ?)");
const take = database.prepare("INSERT OR IGNORE INTO taken VALUES (?, ?)");

/** @typedef {{ id: string, seq: number, members: Set<import("ws").WebSocket> }} Session */
/** @type {Map<string, Session>} */
const sessions = new Map();
/** @type {{ session: Session, data: import("ws").RawData }[]} */
let waiting = [];
let created = 0;

/** @param {Session} session @param {string} body */
const store = (session, body) => insert.run(session.id, (session.seq += 1), body);

function flush() {
  const batch = waiting;
  waiting = [];
  /** @type {(() => void)[]} */
  const sends = [];
  database.exec("BEGIN IMMEDIATE");
  for (const { session, data } of batch) {
    const text = data.toString();
    const { id, payload } = JSON.parse(text);
    take.run(session.id, `${id}-${(created += 1)}`);
    store(session, text);
    const reply = { message_id: newId(), content: payload.content, request_id: id };
    const body = JSON.stringify(answer("message.create", session.id, reply));
    store(session, body);
    sends.push(() => session.members.forEach((member) => member.send(body)));
  }
  database.exec("COMMIT");
  for (const send of sends) send();
}

const server = createServer();
const channel = new WebSocketServer({ server, perMessageDeflate: false });
channel.on("connection", (socket, { url = "" }) => {
  const id = url.split("session_id=")[1] ?? `session-${(created += 1)}`;
  const session = sessions.get(id) ?? { id, seq: 0, members: new Set() };
  sessions.set(id, session);
  session.members.add(socket);
  socket.on("message", (data) => {
    if (waiting.push({ session, data }) === 1) setImmediate(flush);
  });
  socket.on("close", () => session.members.delete(socket));
});
server.listen(Number(process.argv[2]), "127.0.0.1");
