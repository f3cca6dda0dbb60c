// npm run walks [-- walk ... --json]: counts the source files that a request enters on its way to
// the response, which is how many files a reader must follow. The launcher runs in this process,
// from dist/, with its files in a temporary home; V8's precise coverage says which functions were
// entered.
//
// Each walk runs several times, and a file counts if every run entered it. Consequences after the
// response count too, such as those of a changed file, without the functions that the launcher
// enters while it is idle. A connection is open only for the walks that use it: its pings are
// background.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { Session } from "node:inspector/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { WebSocket } from "ws";
import { launcherToken, picoToken } from "./settings.mjs";

/**
 * @typedef {object} Walk
 * @property {number} settleMs How long consequences after the response are awaited
 * @property {"kept" | "new"} [connection] Whether the runs share a connection to the channel, or
 *   each needs a new one
 * @property {(at: Place) => Promise<unknown>} run
 */
/**
 * @typedef {object} Place
 * @property {(method: string, path: string, body?: object, etag?: string) => Promise<any>} ask
 *   Sends a request as the signed-in owner. Resolves to the body of the response.
 * @property {() => Promise<void>} connect Opens a connection with the current token of the channel,
 *   and closes the previous one
 * @property {() => Promise<void>} disconnect Closes the connection, if there is one
 * @property {() => WebSocket} socket That connection
 * @property {any} log The session log of a channel over a SQLite file of its own
 */

const runs = 3;
/** Between runs, so that one leaves no timer for the next. */
const pauseMs = 300;
/** Covers the longest interval of a background task: the 2 s at which files are polled. */
const idleMs = 2_500;
const dist = new URL("../dist/", import.meta.url).href;
/** Bundled packages. Readers no more follow a request into these than into node_modules. */
const bundles = ["web-framework", "cookie-format"].map(
  (name) => `${dist}plugins/dashboard/server/${name}.js`,
);
const { version } = createRequire(import.meta.url)("../package.json");
let connections = 1_000;
const ignore = () => {};
const listeners = {
  onReceipt: ignore,
  sessionActive: ignore,
  sessionIdle: ignore,
  renewed: ignore,
};
/** An entry of the session log. */
const entry = { frame: Buffer.from("{}"), numbered: true, message: "m", final: true };

/** @type {Record<string, Walk>} */
const walks = {
  "sign-in": {
    settleMs: 0,
    run: ({ ask }) => ask("POST", "/login", { token: launcherToken }),
  },
  message: {
    settleMs: 0,
    connection: "kept",
    run: async ({ socket }) => {
      socket().send('{"type":"message.send","payload":{"content":"hello"}}');
      await nextFrame(socket(), "message.create");
    },
  },
  append: {
    settleMs: 0,
    run: ({ log }) => log.append("session", { type: "message.create", ...entry }),
  },
  rotation: {
    settleMs: 1_000,
    connection: "new",
    run: async ({ ask, socket }) => {
      const closed = once(socket(), "close");
      await ask("POST", "/api/token/rotate", { which: "pico", current: launcherToken });
      await closed;
    },
  },
  settings: {
    settleMs: 1_000,
    run: async ({ ask }) => {
      const { sections } = await ask("GET", "/api/settings");
      const { etag } = sections.find((/** @type {any} */ each) => each.section === "channels.pico");
      connections += 1;
      await ask("PUT", "/api/channels/pico", { max_connections: connections }, etag);
    },
  },
};

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "boolean" } },
});
const names = positionals.length > 0 ? positionals : Object.keys(walks);
const unknown = names.filter((name) => !Object.hasOwn(walks, name));
if (unknown.length > 0)
  fail(`Unknown walk: ${unknown[0]}. Walks: ${Object.keys(walks).join(", ")}`);
if (!existsSync(new URL("config/presets/launcher.js", dist)))
  fail("dist/ is missing. Run: npm run build");
const entered = await measure(names);
if (options.json) console.log(JSON.stringify(entered));
else
  for (const [name, files] of Object.entries(entered))
    console.log(`${name}: ${files.length} files\n  ${files.join("\n  ")}`);

/** @param {string} message @returns {never} */
function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

/** @param {readonly string[]} names @returns {Promise<Record<string, string[]>>} walk -> files */
async function measure(names) {
  const home = await mkdtemp(path.join(tmpdir(), "doorward-walks-"));
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  const kernel = await startLauncher(home);
  const conversations = await openConversations(home);
  try {
    const place = { ...(await visit(kernel, home)), log: conversations.open("walk", listeners) };
    /** @type {Record<string, string[]>} */
    const found = {};
    for (const name of names) {
      const walk = walks[name];
      if (walk) found[name] = await filesOf(walk, place, session);
    }
    return found;
  } finally {
    session.disconnect();
    await conversations.close();
    await kernel.stop();
    await rm(home, { recursive: true, force: true });
  }
}

/** @param {Walk} walk @param {Place} place @param {Session} session */
async function filesOf({ run, settleMs, connection }, place, session) {
  /** Per run: the functions entered. @type {Set<string>[]} */
  const entered = [];
  /** Per run: those entered after the response. @type {Set<string>[]} */
  const later = [];
  await place.disconnect();
  if (connection === "kept") await place.connect();
  const prepare = async () => {
    if (connection === "new") await place.connect();
    await wait(pauseMs);
    await takeCoverage(session);
  };
  for (let n = 0; n <= runs; n += 1) {
    await prepare();
    await run(place);
    const functions = await takeCoverage(session);
    // The first run may enter files that later ones do not need: it does not count.
    if (n > 0) entered.push(functions);
    if (settleMs === 0) continue;
    await wait(settleMs);
    if (n > 0) later.push(await takeCoverage(session));
  }
  /** @type {Set<string>} */
  let idle = new Set();
  if (settleMs > 0) {
    await prepare();
    await wait(idleMs);
    idle = await takeCoverage(session);
  }
  // Whether a function runs before or after the response may differ between two runs.
  const walked = entered.map((functions, n) => {
    const consequences = [...(later[n] ?? [])].filter((name) => !idle.has(name));
    return new Set([...functions, ...consequences].map((name) => name.slice(0, name.indexOf(" "))));
  });
  return inAll(walked).sort();
}

/** @param {readonly Set<string>[]} sets */
function inAll([first = new Set(), ...others]) {
  return [...first].filter((file) => others.every((files) => files.has(file)));
}

/** The functions below dist/ that were entered since the last call, as `FILE OFFSET`.
 *  @param {Session} session */
async function takeCoverage(session) {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  return new Set(
    result
      .filter(({ url }) => url.startsWith(dist) && !bundles.includes(url))
      .flatMap(({ url, functions }) =>
        functions
          .flatMap(({ ranges }) => ranges.filter(({ count }) => count > 0).slice(0, 1))
          .map(({ startOffset }) => `${url.slice(dist.length)} ${startOffset}`),
      ),
  );
}

/** @param {string} home */
async function startLauncher(home) {
  const write = (/** @type {string} */ name, /** @type {string} */ text) =>
    writeFile(path.join(home, name), text, { mode: 0o600 });
  await write("launcher-config.json", JSON.stringify({ launcher_token: launcherToken }));
  await write(".security.yml", `channels:\n  pico:\n    token: ${picoToken}\n`);
  await write("config.json", JSON.stringify({ channels: { pico: { enabled: true } } }));
  const preset = await import(new URL("config/presets/launcher.js", dist).href);
  const kernel = await preset.createLauncher({
    home,
    // The walk "append" is the way into a store.
    env: { SERVICE_STORE_KIND: "memory" },
    version,
    flags: { port: 0 },
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
  });
  await kernel.start();
  return kernel;
}

/** Opens a SQLite store, as the plugin does. @param {string} home */
async function openConversations(home) {
  const { openSqlite } = await import(new URL("plugins/conversations/sqlite/index.js", dist).href);
  return openSqlite(
    { path: path.join(home, "walk.db") },
    {
      clock: {
        now: () => Date.now(),
        // Without time, the upkeep of the store does not begin.
        monotonic: () => 0,
        setTimeout: ignore,
        clearTimeout: ignore,
      },
      log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
      random: randomBytes,
      after: ignore,
      limits: () => ({ keepDays: 0, maxBytes: Infinity }),
      changed: ignore,
      forgotten: ignore,
    },
  );
}

/** Signs in and connects. @param {any} kernel @param {string} home @returns {Promise<Omit<Place, "log">>} */
async function visit(kernel, home) {
  const [base] = kernel.services.http.addresses();
  let cookie = "";
  /** @type {WebSocket | undefined} */
  let socket;
  /** @type {Place["ask"]} */
  const ask = async (method, path, body, etag) => {
    const response = await fetch(new URL(path, base), {
      method,
      headers: { "content-type": "application/json", cookie, ...(etag && { "if-match": etag }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    const set = response.headers.getSetCookie().find((line) => line.includes("_session_"));
    if (set) [cookie = ""] = set.split(";");
    return JSON.parse(text);
  };
  const disconnect = async () => {
    if (socket && socket.readyState !== WebSocket.CLOSED) {
      socket.terminate();
      await once(socket, "close");
    }
    socket = undefined;
  };
  const connect = async () => {
    const text = await readFile(path.join(home, ".security.yml"), "utf8");
    const [, token] = /token: ["']?([^\s"']+)/.exec(text) ?? [];
    await disconnect();
    socket = new WebSocket(new URL("/pico", base), [`token.${token}`]);
    await once(socket, "open");
  };
  const current = () => {
    if (!socket) throw new Error("This walk has no connection. Set `connection`.");
    return socket;
  };
  await ask("POST", "/login", { token: launcherToken });
  return { ask, connect, disconnect, socket: current };
}

/** @param {WebSocket} socket @param {string} type */
async function nextFrame(socket, type) {
  for (;;) {
    const [data] = await once(socket, "message");
    if (JSON.parse(String(data)).type === type) return;
  }
}
