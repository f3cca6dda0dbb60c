// Embeds Doorward in Express. Your own token store only says whether a token is correct.
import { timingSafeEqual, createHash } from "node:crypto";
import { createServer } from "node:http";
import express from "express";
import { createKernel } from "doorward";
import { application, channels } from "doorward/plugins/channels";
import { http } from "doorward/plugins/http";
import { picoServer } from "doorward/plugins/pico-server";
import { tokenStore } from "doorward/plugins/token-store";

const digest = (token: string): Buffer => createHash("sha256").update(token).digest();
/** Token hashes of two users, as a database has them. */
const known = [digest("ann-s-own-token"), digest("bob-s-own-token")];

const app = express();
app.get("/", (_, answer) => void answer.send("my own site"));
const server = createServer(app);

const kernel = createKernel([
  tokenStore({
    resolve: () => undefined,
    write: () => Promise.reject(new Error("tokens are changed in the database")),
    verify: async (_, token) => known.some((one) => timingSafeEqual(one, digest(token))),
  }),
  channels(),
  http({ server }),
  picoServer(),
  application(async (message) => {
    await message.reply({ content: `you said ${message.content}` });
  }),
]);
await kernel.start();
server.listen(Number(process.env["PORT"] ?? 8080), "127.0.0.1", () =>
  console.log("listening", server.address()),
);
process.once("SIGTERM", () => void kernel.stop().then(() => server.close()));
