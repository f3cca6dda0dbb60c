// Socket.IO without HTTP long-polling, with rooms as sessions.
import { createServer } from "node:http";
import process from "node:process";
import { respond } from "./answer.mjs";

// Belongs to `bench/package.json`, so the package may be missing.
const { Server } = await import(/** @type {string} */ ("socket.io"));
const server = createServer();
const io = new Server(server, {
  transports: ["websocket"],
  perMessageDeflate: false,
  serveClient: false,
});

io.on("connection", (/** @type {any} */ socket) => {
  const session = socket.handshake.query.session_id ?? socket.id;
  if (session !== socket.id) void socket.join(session);
  socket.on("m", (/** @type {any} */ message) => {
    respond(message, session, (answer) => io.to(session).emit("m", answer));
  });
});
server.listen(Number(process.argv[2]), "127.0.0.1");
