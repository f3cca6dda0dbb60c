// The lower bound of a fan-out: writes the same prepared bytes to each socket.
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import process from "node:process";
import { answer, newId } from "./answer.mjs";

const content = "hello, all clients";
const text = Buffer.from(
  JSON.stringify(answer("message.create", "session-000000", { message_id: newId(), content })),
);
const frame = Buffer.concat([Buffer.from([0x81, 126, text.length >> 8, text.length & 255]), text]);
/** @type {Set<import("node:stream").Duplex>} */
const sockets = new Set();
const server = createServer();

server.on("upgrade", ({ headers }, socket) => {
  const key = `${headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
  const accept = createHash("sha1").update(key).digest("base64");
  const fields = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
  socket.write(`${fields.join("\r\n")}\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
  sockets.add(socket);
  socket.on("data", () => {
    for (const other of sockets) other.write(frame);
  });
  socket.on("error", () => undefined);
  socket.on("close", () => sockets.delete(socket));
});
server.listen(Number(process.argv[2]), "127.0.0.1");
