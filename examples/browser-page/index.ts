// A page of your application that connects to the channel. Your own cookie authenticates it, so no
// token reaches the browser.
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { createKernel } from "doorward";
import { channels } from "doorward/plugins/channels";
import { echo } from "doorward/plugins/echo";
import { http } from "doorward/plugins/http";
import { picoServer } from "doorward/plugins/pico-server";
import { memory, tokenStore } from "doorward/plugins/token-store";
import { page } from "./page.ts";

/** Cookie and the id of its visitor. */
const visitors = new Map<string, string>();
const server = createServer((request, answer) => {
  if (request.url !== "/") return void answer.writeHead(404).end();
  const cookie = randomBytes(16).toString("hex"); // a real host signs people in first
  visitors.set(cookie, `visitor-${visitors.size + 1}`);
  answer.setHeader("set-cookie", `visitor=${cookie}; HttpOnly; SameSite=Strict; Path=/`);
  answer.setHeader("content-type", "text/html; charset=utf-8");
  answer.end(page);
});

const kernel = createKernel([
  tokenStore(memory({ pico: randomBytes(32).toString("hex") })), // for programs; pages need none
  channels(),
  http({
    server,
    identify({ headers }) {
      const cookie = /(?:^|; )visitor=([0-9a-f]{32})/.exec(headers.cookie ?? "")?.[1];
      const id = visitors.get(cookie ?? "");
      return id === undefined ? undefined : { id }; // each visitor has sessions of their own
    },
  }),
  picoServer(),
  echo(),
]);
await kernel.start();
server.listen(Number(process.env["PORT"] ?? 8080), "127.0.0.1", () =>
  console.log("listening", server.address()),
);
process.once("SIGTERM", () => void kernel.stop().then(() => server.close()));
