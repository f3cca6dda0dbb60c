// Embeds Doorward in Fastify with its server, pino logger and sign-in. Signed-in users connect from
// your pages without a token; programs need the channel token.
import Fastify from "fastify";
import { createKernel } from "doorward";
import { application, channels } from "doorward/plugins/channels";
import { http } from "doorward/plugins/http";
import { picoServer } from "doorward/plugins/pico-server";
import { memory, tokenStore } from "doorward/plugins/token-store";

const sessions = new Map([["ann-s-cookie", "ann"]]);
const app = Fastify({ logger: { level: "warn" } });
app.get("/", () => "my own site");

const kernel = createKernel(
  [
    tokenStore(memory({ pico: process.env["CHANNEL_TOKEN"] ?? "correct-horse-battery-staple" })),
    channels(),
    http({
      server: app.server,
      identify: async ({ headers }) => {
        const id = sessions.get(/session=([\w-]+)/.exec(headers.cookie ?? "")?.[1] ?? "");
        return id === undefined ? undefined : { id };
      },
    }),
    picoServer(),
    application(async (message) => {
      await message.reply({ content: `you said ${message.content}` });
    }),
  ],
  { log: app.log },
);
app.addHook("onReady", () => kernel.start());
app.addHook("preClose", () => kernel.stop({ timeoutMs: 5_000 }));

const address = await app.listen({ port: Number(process.env["PORT"] ?? 8080), host: "127.0.0.1" });
console.log(`listening ${address}`);
process.once("SIGTERM", () => void app.close());
