// A React page that chats with an application over doorward-client. `use-chat.ts` has the hook.
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { setTimeout as after } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { createKernel } from "doorward";
import { application, channels } from "doorward/plugins/channels";
import { conversations, sqlite } from "doorward/plugins/conversations";
import { http } from "doorward/plugins/http";
import { picoServer } from "doorward/plugins/pico-server";
import { memory, tokenStore } from "doorward/plugins/token-store";

const { outputFiles } = await build({
  stdin: { contents: 'import "./page"', resolveDir: fileURLToPath(new URL(".", import.meta.url)) },
  bundle: true,
  format: "esm",
  jsx: "automatic",
  write: false,
});
const script = outputFiles[0]!.text;
const page = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>React chat</title>
<div id="root"></div><script type="module" src="/page.js"></script></html>`;

/** Cookie and the id of its visitor. A real host signs people in first. */
const visitors = new Map<string, string>();
const visitorOf = (cookie = ""): string | undefined =>
  visitors.get(/(?:^|; )visitor=([0-9a-f]{32})/.exec(cookie)?.[1] ?? "");
const server = createServer(({ url, headers }, response) => {
  if (url === "/page.js")
    return void response.setHeader("content-type", "text/javascript").end(script);
  if (url !== "/") return void response.writeHead(404).end();
  if (!visitorOf(headers.cookie)) {
    const cookie = randomBytes(16).toString("hex");
    visitors.set(cookie, `visitor-${randomBytes(8).toString("hex")}`);
    response.setHeader("set-cookie", `visitor=${cookie}; HttpOnly; SameSite=Strict; Path=/`);
  }
  response.setHeader("content-type", "text/html; charset=utf-8").end(page);
});

const kernel = createKernel(
  [
    tokenStore(memory({ pico: randomBytes(32).toString("hex") })), // for programs; pages need none
    conversations({ store: sqlite({ path: process.env["CHAT_STORE"] ?? "data/chat.db" }) }),
    channels(),
    http({
      server,
      identify({ headers }) {
        const id = visitorOf(headers.cookie);
        return id === undefined ? undefined : { id }; // each visitor has conversations of their own
      },
    }),
    picoServer(),
    application(async (message) => {
      message.accept();
      await message.reply({ kind: "thought", content: "The clock knows." });
      const call = { id: "1", name: "clock", arguments: "{}", result: "noon" };
      await message.reply({ kind: "tool_calls", content: "", toolCalls: [call] });
      const reply = message.stream({ model: "example-1" });
      for (const word of `It is noon. You said: ${message.content}`.split(/(?= )/)) {
        reply.write(word);
        // A stop of the person ends the wait, and the stream with its text so far.
        const isOver = await after(100, false, { signal: message.signal }).catch(() => true);
        if (isOver) break;
      }
      await reply.end({ usage: { input: 3, output: 9 } });
    }),
  ],
  { config: { "channels.pico": { enabled: true } } },
);
await kernel.start();
server.listen(Number(process.env["PORT"] ?? 8080), "127.0.0.1", () =>
  console.log("listening", server.address()),
);
process.once("SIGTERM", () => void kernel.stop().then(() => server.close()));
