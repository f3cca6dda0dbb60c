// The servers that are measured, each in a process of its own: the built launcher in a home of its
// own, and its peers.
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { mostFiles, spawnOn, versionOf } from "./machine.mjs";
import { buildGorilla } from "./peers/gorilla.mjs";
import { launcherToken, picoToken, storeKind } from "./settings.mjs";

/** @param {string} file */
const here = (file) => fileURLToPath(new URL(file, import.meta.url));
const program = here("../dist/bin/doorward.js");
export const isBuilt = () => existsSync(program);

/**
 * @typedef {object} Kind
 * @property {import("./load/wires.mjs").WireName} wire
 * @property {string} [file] of a Node program that takes a port
 * @property {string} [needs] a package of `bench/package.json`
 */
/** @satisfies {Record<string, Kind>} */
const kinds = {
  doorward: { wire: "pico" },
  "doorward, extension": { wire: "picoExtended" },
  "doorward, streams": { wire: "pico", file: "peers/doorward-streams.mjs" },
  "doorward, sign-in": { wire: "pico" },
  ws: { wire: "pico", file: "peers/ws.mjs" },
  "raw writes": { wire: "pico", file: "peers/raw.mjs" },
  "socket.io": { wire: "socketIo", file: "peers/socket-io.mjs", needs: "socket.io" },
  hocuspocus: { wire: "hocuspocus", file: "peers/hocuspocus.mjs", needs: "@hocuspocus/server" },
  gorilla: { wire: "pico" },
  "fastify, bare": { wire: "pico", file: "peers/fastify-login.mjs" },
  "fastify, cookie and log": { wire: "pico", file: "peers/fastify-session.mjs" },
};
/** @typedef {keyof typeof kinds} Name */

/**
 * @typedef {object} Server
 * @property {Name} name
 * @property {import("./load/wires.mjs").WireName} wire
 * @property {number} port
 * @property {number} pid
 * @property {() => Promise<number>} memory resident bytes after a collection
 * @property {() => Promise<void>} stop
 */

/** Why a peer cannot take part here. @param {Name} name @returns {string | undefined} */
export function absence(name) {
  /** @type {Kind} */
  const { needs } = kinds[name];
  if (needs !== undefined && !versionOf(needs)) return "not installed: npm ci --prefix bench";
  return name === "gorilla" ? buildGorilla().absence : undefined;
}

/** Starts it and waits until it listens. @param {Name} name @returns {Promise<Server>} */
export async function startServer(name) {
  /** @type {Kind} */
  const { wire, file } = kinds[name];
  const port = await freePort();
  const { home, remove } = await makeHome(
    name === "doorward, sign-in" ? undefined : { channels: { pico: channel } },
  );
  const isGo = name === "gorilla";
  const args = file === undefined ? launcherArguments(port) : [here(file), String(port)];
  const server = isGo
    ? startProcess(buildGorilla().program, [String(port)], {})
    : startNode(args, { SERVICE_HOME: home, SERVICE_STORE_KIND: storeKind, ...tokens });
  const stop = () => server.stop("SIGKILL").then(remove);
  try {
    await server.listening(port);
  } catch (error) {
    await stop();
    throw error;
  }
  const { pid } = server;
  return {
    name,
    wire,
    port,
    pid,
    stop,
    memory: isGo ? () => collectOver(port, pid) : server.memory,
  };
}

/** Of one start that is measured itself. @param {string} home @param {number} port */
export const startLauncher = (home, port, env = {}) =>
  startNode(launcherArguments(port), { SERVICE_HOME: home, ...env }, []);

/** A folder that holds the files of a launcher. @param {object} [config] of `config.json` */
export async function makeHome(config) {
  const home = await mkdtemp(path.join(tmpdir(), "doorward-bench-"));
  if (config)
    await writeFile(path.join(home, "config.json"), JSON.stringify(config), { mode: 0o600 });
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

/** Resident bytes, from `/proc`, so Linux only. @param {number} pid */
export async function residentBytes(pid) {
  const [, kilobytes] =
    /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) * 1_024;
}

const channel = {
  enabled: true,
  max_connections: mostFiles() - 100,
  message_rate: 0,
  message_burst: 0,
};
const tokens = { SERVICE_LAUNCHER_TOKEN: launcherToken, SERVICE_CHANNELS_PICO_TOKEN: picoToken };
const launcherArguments = (/** @type {number} */ port) => [
  program,
  "-no-browser",
  "-port",
  String(port),
];

const collecting = ["--expose-gc", "--import", new URL("peers/collect.mjs", import.meta.url).href];

/** @param {readonly string[]} args @param {Record<string, string>} env @param {readonly
 *  string[]} flags */
const startNode = (args, env, flags = collecting) =>
  startProcess(process.execPath, [...flags, ...args], env);

/** Nobody outlives a run that is broken off. @type
 *  {Set<import("node:child_process").ChildProcess>} */
const running = new Set();
process.once("exit", () => running.forEach((child) => child.kill("SIGKILL")));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

/** @param {string} command @param {readonly string[]} args @param {Record<string, string>} env */
function startProcess(command, args, env) {
  const child = spawnOn("server", command, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let complaint = "";
  child.stderr?.setEncoding("utf8").on("data", (/** @type {string} */ text) => {
    complaint = (complaint + text).slice(-2_000);
  });
  const ended = once(child, "close");
  running.add(child);
  child.once("close", () => running.delete(child));
  return {
    pid: child.pid ?? 0,
    /** Resolves as soon as the port takes a connection. @param {number} port */
    async listening(port) {
      const deadline = performance.now() + 20_000;
      while (!(await accepts(port))) {
        const isOver = child.exitCode !== null || performance.now() > deadline;
        if (isOver) throw new Error(`${command} ${args.join(" ")} does not listen: ${complaint}`);
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
async function collectOver(port, pid) {
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
