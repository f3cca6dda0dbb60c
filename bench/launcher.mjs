// Child processes that are measured: the built launcher in a home of its own, and the bare servers.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../dist/bin/doorward.js", import.meta.url));

export const launcherToken = "bench-launcher-token-of-43-characters-0000000";
export const picoToken = "bench-pico-token-of-43-characters-00000000000";

/** A folder that holds the files of a launcher. @param {object} [config] of `config.json` */
export async function makeHome(config) {
  const home = await mkdtemp(path.join(tmpdir(), "doorward-bench-"));
  if (config) await writeFile(path.join(home, "config.json"), JSON.stringify(config), { mode: 0o600 });
  return { home, remove: () => rm(home, { recursive: true, force: true }) };
}

/** A port that was free a moment ago. @returns {Promise<number>} */
export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}

/** @param {string} home @param {number} port @param {Record<string, string>} [env] */
export function startLauncher(home, port, env = {}) {
  return startNode([program, "-no-browser", "-port", String(port)], { SERVICE_HOME: home, ...env });
}

/** @param {string} name of a file in `peers/` @param {number} port */
export const startPeer = (name, port) =>
  startNode([fileURLToPath(new URL(`peers/${name}.mjs`, import.meta.url)), String(port)], {});

/** @param {readonly string[]} args @param {Record<string, string>} env */
function startNode(args, env) {
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: ["ignore", "ignore", "pipe"] });
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (/** @type {string} */ text) => {
    complaint = (complaint + text).slice(-2_000);
  });
  const ended = new Promise((done) => child.once("close", done));
  return {
    pid: child.pid ?? 0,
    /** Resolves as soon as the port takes a connection. @param {number} port */
    async listening(port) {
      const deadline = performance.now() + 20_000;
      while (!(await accepts(port))) {
        const isOver = child.exitCode !== null || performance.now() > deadline;
        if (isOver) throw new Error(`${args.join(" ")} does not listen: ${complaint}`);
        await wait(1);
      }
    },
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** @param {number} port @returns {Promise<boolean>} */
const accepts = (port) =>
  new Promise((done) => {
    const socket = connect(port, "127.0.0.1");
    const end = (/** @type {boolean} */ open) => {
      socket.destroy();
      done(open);
    };
    socket.once("connect", () => end(true)).once("error", () => end(false));
  });
