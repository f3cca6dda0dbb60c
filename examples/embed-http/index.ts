// Embeds Doorward in an HTTP server with its own WebSockets. The channel has its own base path; all
// other paths stay yours.
import { createServer } from "node:http";
import { createKernel } from "doorward";
import { application, channels } from "doorward/plugins/channels";
import { http } from "doorward/plugins/http";
import { picoServer } from "doorward/plugins/pico-server";
import { memory, tokenStore } from "doorward/plugins/token-store";

const server = createServer((request, answer) => {
  if (request.url === "/health") answer.end(JSON.stringify(kernel.health()));
  else answer.end("my own site");
});
server.on("upgrade", (request, socket) => {
  if (request.url === "/mine")
    socket.end("HTTP/1.1 101 Switching Protocols\r\n\r\nmy own protocol");
});

const stop = new AbortController();
const kernel = createKernel(
  [
    tokenStore(memory({ pico: process.env["CHANNEL_TOKEN"] ?? "correct-horse-battery-staple" })),
    channels(),
    http({ server, basePath: "/door" }),
    picoServer(),
    application(async (message) => {
      await message.reply({ content: `you said ${message.content}` });
    }),
  ],
  { signal: stop.signal },
);
await kernel.start();
server.listen(Number(process.env["PORT"] ?? 8080), "127.0.0.1", () =>
  console.log("listening", server.address()),
);

process.once("SIGTERM", () => {
  stop.abort();
  server.close();
});
