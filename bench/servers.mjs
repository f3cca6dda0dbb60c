// Starts the measured servers, each in a process of its own: the built launcher with its own home,
// and the peers.
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { maxOpenFiles, spawnOn, versionOf } from "./machine.mjs";
import { findBun } from "./peers/bun.mjs";
import { buildGorilla } from "./peers/gorilla.mjs";
import { launcherToken, picoToken, storeKind } from "./settings.mjs";

const repository = fileURLToPath(new URL("..", import.meta.url));
const launcher = (/** @type {string} */ root) => path.join(root, "dist", "bin", "doorward.js");
export const isBuilt = () => existsSync(launcher(repository));

/**
 * @typedef {object} Kind
 * @property {import("./load/protocols.mjs").ProtocolName} protocol
 * @property {string} [file] A Node program that takes a port. Without it: the launcher
 * @property {string} [needs] A package of `bench/package.json`
 */
/** @satisfies {Record<string, Kind>} */
const kinds = {
  doorward: { protocol: "pico" },
  "doorward, extension": { protocol: "picoExtended" },
  "doorward, stored": { protocol: "pico" },
  "doorward, nodes": { protocol: "picoStored" },
  "doorward, streams": { protocol: "pico", file: "peers/doorward-streams.mjs" },
  "doorward, sign-in": { protocol: "pico" },
  "doorward, protocols": { protocol: "pico", file: "peers/protocols.mjs" },
  "bare sse": { protocol: "pico", file: "peers/sse.mjs" },
  ws: { protocol: "pico", file: "peers/ws.mjs" },
  "ws and sqlite": { protocol: "pico", file: "peers/ws-sqlite.mjs" },
  "raw writes": { protocol: "pico", file: "peers/raw.mjs" },
  "socket.io": { protocol: "socketIo", file: "peers/socket-io.mjs", needs: "socket.io" },
  hocuspocus: { protocol: "hocuspocus", file: "peers/hocuspocus.mjs", needs: "@hocuspocus/server" },
  gorilla: { protocol: "pico" },
  bun: { protocol: "pico" },
  "fastify, bare": { protocol: "pico", file: "peers/fastify-login.mjs" },
  "fastify, cookie and log": { protocol: "pico", file: "peers/fastify-session.mjs" },
};
/** @typedef {keyof typeof kinds} Name */

/** @param {Name} name */
export const isDoorward = (name) => name.startsWith("doorward");

/**
 * @typedef {object} Server
 * @property {string} name
 * @property {import("./load/protocols.mjs").ProtocolName} protocol
 * @property {number} port
 * @property {number} pid
 * @property {() => Promise<number>} memory Resolves to resident bytes after a garbage collection
 * @property {(signal?: NodeJS.Signals) => Promise<void>} stop Default: SIGKILL
 */

/** Returns why a server cannot be measured here, or undefined. @param {Name} name
 * @returns {string | undefined} */
export function missingReason(name) {
  /** @type {Kind} */
  const { needs } = kinds[name];
  if (needs !== undefined && !versionOf(needs)) return "not installed. Run: npm ci --prefix bench";
  if (name === "gorilla") return buildGorilla().missingReason;
  return name === "bun" ? findBun().missingReason : undefined;
}

/** Starts a server and waits until it listens.
 * @param {Name} name
 * @param {{ root?: string | undefined, env?: Record<string, string>, port?: number }} [options]
 *   Folder of another version of Doorward, additional environment variables, and a port
 * @returns {Promise<Server>} */
export async function startServer(name, { root = repository, env = {}, port: given } = {}) {
  const { protocol } = kinds[name];
  const port = given ?? (await freePort());
  const { home, remove } = await makeHome(
    name === "doorward, sign-in" ? undefined : { channels: { pico: channel } },
  );
  const server = startProgram(name, root, port, { SERVICE_HOME: home, ...env });
  const stop = (/** @type {NodeJS.Signals} */ signal = "SIGKILL") =>
    server.stop(signal).then(remove);
  try {
    await server.listening(port);
  } catch (error) {
    await stop();
    throw error;
  }
  const { pid } = server;
  const hasOwnCollector = name === "gorilla" || name === "bun";
  const memory = hasOwnCollector ? () => collectOverHttp(port, pid) : server.memory;
  return { name, protocol, port, pid, stop, memory };
}

/** @param {Name} name @param {string} root @param {number} port @param {Record<string, string>} env */
function startProgram(name, root, port, env) {
  if (name === "gorilla") return startProcess(buildGorilla().program, [String(port)], {});
  if (name === "bun") return startProcess(findBun().program, [findBun().server, String(port)], {});
  /** @type {Kind} */
  const { file } = kinds[name];
  const args =
    file === undefined
      ? launcherArguments(root, port)
      : [path.join(isDoorward(name) ? root : repository, "bench", file), String(port)];
  const role = name === "doorward, nodes" ? "any" : "server";
  const kind = name === "doorward, stored" ? "sqlite" : storeKind;
  return startNode(args, { SERVICE_STORE_KIND: kind, ...tokens, ...env }, { role });
}

/** Starts a launcher whose start is measured.
 * @param {string} home @param {number} port @param {Record<string, string>} [env] @param {string} [root] */
export const startLauncher = (home, port, env = {}, root = repository) =>
  startNode(launcherArguments(root, port), { SERVICE_HOME: home, ...env }, { flags: [] });

/** Creates a folder for the files of a launcher. @param {object} [config] Content of `config.json` */
export async function makeHome(config) {
  const home = await mkdtemp(path.join(tmpdir(), "doorward-bench-"));
  if (config)
    await writeFile(path.join(home, "config.json"), JSON.stringify(config), { mode: 0o600 });
  return { home, remove: () => rm(home, { recursive: true, force: true }) };
}

/** Resolves to a port that was free a moment ago. @returns {Promise<number>} */
export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}

/** Reads the resident bytes of a process from `/proc` (Linux only). @param {number} pid */
export async function residentBytes(pid) {
  const [, kilobytes] =
    /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) * 1_024;
}

const channel = {
  enabled: true,
  max_connections: maxOpenFiles() - 100,
  message_rate: 0,
  message_burst: 0,
};
const tokens = { SERVICE_LAUNCHER_TOKEN: launcherToken, SERVICE_CHANNELS_PICO_TOKEN: picoToken };
const launcherArguments = (/** @type {string} */ root, /** @type {number} */ port) => [
  launcher(root),
  "-no-browser",
  "-port",
  String(port),
];

const collector = new URL("peers/collect.mjs", import.meta.url).href;

/** @typedef {"server" | "any"} Role */

/** @param {readonly string[]} args @param {Record<string, string>} env
 * @param {{ flags?: readonly string[], role?: Role }} [options] */
const startNode = (args, env, { flags = ["--expose-gc", "--import", collector], role } = {}) =>
  startProcess(process.execPath, [...flags, ...args], env, role);

/** Killed when this process exits. @type {Set<import("node:child_process").ChildProcess>} */
const running = new Set();
process.once("exit", () => running.forEach((child) => child.kill("SIGKILL")));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

/** @param {string} command @param {readonly string[]} args @param {Record<string, string>} env
 * @param {Role} [role] */
export function startProcess(command, args, env, role = "server") {
  const child = spawnOn(role, command, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let errors = "";
  child.stderr?.setEncoding("utf8").on("data", (/** @type {string} */ text) => {
    errors = (errors + text).slice(-2_000);
  });
  const ended = once(child, "close");
  running.add(child);
  child.once("close", () => running.delete(child));
  return {
    pid: child.pid ?? 0,
    /** Resolves when the port accepts a connection. @param {number} port */
    async listening(port) {
      const deadline = performance.now() + 20_000;
      while (!(await accepts(port))) {
        const isOver = child.exitCode !== null || performance.now() > deadline;
        if (isOver) throw new Error(`${command} ${args.join(" ")} does not listen: ${errors}`);
        await wait(1);
      }
    },
    async memory() {
      const answer = once(child, "message");
      child.send("collect");
      await answer;
      return residentBytes(child.pid ?? 0);
    },
    /** @param {NodeJS.Signals} [signal] */
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      await ended;
    },
  };
}

/** @param {number} port @param {number} pid */
async function collectOverHttp(port, pid) {
  await (await fetch(`http://127.0.0.1:${port}/collect`)).text();
  return residentBytes(pid);
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
