// A bare ws server that answers a message as the channel does: JSON in, JSON out, and nothing else.
import { createServer } from "node:http";
import process from "node:process";
import { WebSocketServer } from "ws";

const server = createServer();
const channel = new WebSocketServer({ server, path: "/pico", perMessageDeflate: false });
let made = 0;
channel.on("connection", (socket) => {
  const session_id = `session-${(made += 1)}`;
  socket.on("message", (data) => {
    const { payload } = JSON.parse(data.toString());
    const message_id = `message-${(made += 1)}`;
    const answer = { type: "message.create", payload: { message_id, content: payload.content }, session_id, timestamp: Date.now() };
    socket.send(JSON.stringify(answer));
  });
});
server.listen(Number(process.argv[2]), "127.0.0.1");
