// The least that a handshake can cost with ws: every upgrade is taken.
import { WebSocketServer } from "ws";

const server = new WebSocketServer({ port: Number(process.argv[2]), host: "127.0.0.1", perMessageDeflate: false });
server.on("connection", (socket) => socket.on("message", (message) => socket.send(message)));
process.once("SIGTERM", () => process.exit());
