// Uses the packages in Bun and Deno, which npm installs: the client against a server of this Node, and a
// host with conversations in SQLite.
import { spawn, execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { createKernel } from "../dist/kernel/index.js";
import { channels } from "../dist/plugins/channels/index.js";
import { echo } from "../dist/plugins/echo/index.js";
import { http } from "../dist/plugins/http/index.js";
import { picoServer } from "../dist/plugins/pico-server/index.js";
import { memory, tokenStore } from "../dist/plugins/token-store/index.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const project = mkdtempSync(path.join(tmpdir(), "doorward-runtimes-"));
const token = "correct-horse-battery-staple";
const npm = (...args) => execFileSync("npm", args, { cwd: project, encoding: "utf8" });
const server = createServer();
const kernel = createKernel(
  [tokenStore(memory({ pico: token })), channels(), http({ server }), picoServer(), echo()],
  { config: { "channels.pico": { enabled: true } } },
);

try {
  writeFileSync(path.join(project, "package.json"), '{"private":true,"type":"module"}');
  const packed = [root, path.join(root, "dist-client")].map((folder) => {
    const [{ filename }] = JSON.parse(npm("pack", folder, "--json", "--ignore-scripts"));
    return `./${filename}`;
  });
  npm("install", "--no-audit", "--no-fund", ...packed, "bun@1.4.5", "deno@2.9.6");
  await kernel.start();
  await once(server.listen(0, "127.0.0.1"), "listening");
  writeFileSync(path.join(project, "talk.mjs"), program(server.address().port));
  await use("the client", "bun", "talk.mjs");
  await use("the client", "deno", "run", "--allow-net", "talk.mjs");
  writeFileSync(path.join(project, "host.mjs"), host());
  await use("a host", "bun", "host.mjs", "in-bun.db");
  const rights = ["--allow-net", "--allow-read", "--allow-write", "--allow-sys"];
  await use("a host", "deno", "run", ...rights, "host.mjs", "in-deno.db");
} finally {
  await kernel.stop();
  server.close();
  rmSync(project, { recursive: true, force: true });
}

/** A program that exits with 0 after the reply to its message. */
function program(port) {
  return `import { connect } from "doorward-client";
const ended = AbortSignal.timeout(20_000);
ended.onabort = () => { throw new Error("there was no reply"); };
let show;
const shown = new Promise((resolve) => void (show = resolve));
const url = "ws://127.0.0.1:${port}/pico";
const chat = connect({ url, token: "${token}", onMessage: show });
const { status } = await chat.send("hello").accepted;
const { content } = await shown;
await chat.history();
chat.close();
ended.onabort = null;
if (content !== "hello" || status !== "delivered") throw new Error(content);
`;
}

/** A program that exits with 0 if a second start finds the conversation of the first one. */
function host() {
  return `import { createKernel } from "doorward";
import { connect } from "doorward/client";
import { application, channels } from "doorward/plugins/channels";
import { conversations, sqlite } from "doorward/plugins/conversations";
import { http } from "doorward/plugins/http";
import { picoServer } from "doorward/plugins/pico-server";
import { memory, tokenStore } from "doorward/plugins/token-store";
const path = process.argv.at(-1);
async function serve(visit) {
  const kernel = createKernel([
    tokenStore(memory({ pico: "${token}" })), conversations({ store: sqlite({ path }) }), channels(),
    http({ port: 0 }), picoServer(), application(({ content, reply }) => reply({ content })),
  ]);
  await kernel.start();
  await visit(kernel.services, new URL("pico?session_id=home", kernel.services.http.addresses()[0]));
  await kernel.stop();
}
await serve(async (_, { href }) => {
  const chat = connect({ url: href.replace("http", "ws"), token: "${token}" });
  await chat.send("a pear").accepted;
  chat.close();
});
await serve(async ({ channels, conversations }) => {
  const { items } = await channels.history({ channel: "pico", session: "home" });
  const found = await conversations.search("pear");
  const seen = [...items.map(({ content }) => content), found.length].join();
  if (seen !== "a pear,a pear,2") throw new Error(seen);
});
`;
}

async function use(what, name, ...args) {
  const runtime = path.join(project, "node_modules", ".bin", name);
  const child = spawn(runtime, args, { cwd: project, stdio: ["ignore", "inherit", "inherit"] });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`${what} does not work in ${name} (exit code ${code})`);
  console.log(`${what} works in ${name}`);
}
