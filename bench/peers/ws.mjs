// A bare ws server: parses JSON and sends the reply, serialized once, to all connections of the
// session. It accepts every upgrade.
import { createServer } from "node:http";
import process from "node:process";
import { WebSocketServer } from "ws";
import { respond } from "./answer.mjs";

const server = createServer();
const channel = new WebSocketServer({ server, perMessageDeflate: false });
/** @type {Map<string, Set<import("ws").WebSocket>>} */
const sessions = new Map();
let created = 0;

channel.on("connection", (socket, { url = "" }) => {
  const session = url.split("session_id=")[1] ?? `session-${(created += 1)}`;
  const members = sessions.get(session) ?? new Set();
  sessions.set(session, members.add(socket));
  socket.on("message", (data) => {
    respond(JSON.parse(data.toString()), session, (answer) => {
      const text = JSON.stringify(answer);
      for (const member of members) member.send(text);
    });
  });
  socket.on("close", () => {
    members.delete(socket);
    if (members.size === 0) sessions.delete(session);
  });
});
server.listen(Number(process.argv[2]), "127.0.0.1");
