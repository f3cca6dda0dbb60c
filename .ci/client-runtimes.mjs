// Uses the packed client in Bun and Deno, which npm installs, against a server of this Node.
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
  const packed = npm("pack", path.join(root, "dist-client"), "--json", "--ignore-scripts");
  const [{ filename }] = JSON.parse(packed);
  const quiet = ["--no-audit", "--no-fund"];
  npm("install", ...quiet, `./${filename}`, "bun@1.4.5", "deno@2.9.6");
  await kernel.start();
  await once(server.listen(0, "127.0.0.1"), "listening");
  writeFileSync(path.join(project, "talk.mjs"), program(server.address().port));
  await use("bun", "talk.mjs");
  await use("deno", "run", "--allow-net", "talk.mjs");
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

async function use(name, ...args) {
  const runtime = path.join(project, "node_modules", ".bin", name);
  const child = spawn(runtime, args, { cwd: project, stdio: ["ignore", "inherit", "inherit"] });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`the client does not work in ${name} (exit code ${code})`);
  console.log(`the client works in ${name}`);
}
