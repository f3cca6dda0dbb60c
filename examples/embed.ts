// Adds the pico channel to your own HTTP server: ws://localhost:8080/pico. Doorward reads no files
// and no environment variables, does not load Fastify, and leaves the server to you.
import { createServer } from "node:http";
import { createKernel } from "doorward";
import { application, channels } from "doorward/plugins/channels";
import { http } from "doorward/plugins/http";
import { picoServer } from "doorward/plugins/pico-server";
import { memory, tokenStore } from "doorward/plugins/token-store";

const server = createServer((_, answer) => answer.end("my own site"));
const kernel = createKernel([
  tokenStore(memory({ pico: "correct-horse-battery-staple" })),
  channels(),
  http({ server }),
  picoServer(),
  application(async (message) => {
    await message.reply({ content: `you said ${message.content}` });
  }),
]);
kernel.on("pico-server:connected", ({ session, address }) =>
  console.log(`${session} came from ${address}`),
);

await kernel.start();
server.listen(Number(process.env["PORT"] ?? 8080), "127.0.0.1", () =>
  console.log("listening", server.address()),
);
process.once("SIGTERM", () => void kernel.stop({ timeoutMs: 5_000 }).then(() => server.close()));
