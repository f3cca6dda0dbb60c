// npm run bench -- turns: processor time of the longest turn of the event loop, while many clients
// send all their messages together.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { WebSocket } from "ws";
import { succeeds } from "../machine.mjs";
import { readings } from "../report.mjs";
import { interleave } from "../rounds.mjs";
import { freePort } from "../servers.mjs";
import { picoToken } from "../settings.mjs";
import { startRedis } from "./nodes.mjs";

const program = fileURLToPath(new URL("../peers/turns.mjs", import.meta.url));
const clients = 50;
const messages = 200;
const stores = /** @type {const} */ (["memory", "sqlite", "redis"]);
const applications = /** @type {const} */ (["echo", "host"]);
const maxMs = 50;
const headers = { authorization: `Bearer ${picoToken}` };

/** @param {number} port @param {number} at @returns {Promise<WebSocket>} */
async function connectTo(port, at) {
  for (let attempt = 1; ; attempt += 1) {
    const url = `ws://127.0.0.1:${port}/pico?session_id=s${at}&pico_ext=1`;
    const socket = new WebSocket(url, { headers });
    try {
      await once(socket, "open");
      return socket;
    } catch (error) {
      if (attempt === 100) throw error;
      await wait(50);
    }
  }
}

/** Sends all messages of a client without waiting. Resolves when each has an outcome.
 *  @param {WebSocket} socket @param {number} count */
function sendAll(socket, count) {
  let left = count;
  const done = new Promise((resolve) => {
    socket.on("message", (data) => {
      const { type } = JSON.parse(String(data));
      if ((type === "message.ack" || type === "error") && --left === 0) resolve(undefined);
    });
  });
  for (let at = 0; at < count; at += 1)
    socket.send(
      JSON.stringify({ type: "message.send", id: `m${at}`, payload: { content: "hello" } }),
    );
  return done;
}

/** @param {string} store @param {string} kind @param {number} count @param {string} redis */
async function longestTurn(store, kind, count, redis) {
  const port = await freePort();
  const folder = await mkdtemp(path.join(tmpdir(), "doorward-bench-"));
  const child = fork(program, [String(port), store, kind, store === "redis" ? redis : folder]);
  try {
    const sockets = [];
    for (let at = 0; at < clients; at += 1) sockets.push(await connectTo(port, at));
    child.send("begin");
    await Promise.all(sockets.map((socket) => sendAll(socket, count)));
    child.send("end");
    const [longest] = await once(child, "message");
    for (const socket of sockets) socket.terminate();
    return Number(longest);
  } finally {
    child.kill("SIGKILL");
    await once(child, "exit");
    await rm(folder, { recursive: true, force: true });
  }
}

/** @param {import("../rounds.mjs").Size} size */
export async function measureTurns({ rounds, count, deadline }) {
  const redis = succeeds("redis-server", ["--version"]) ? await startRedis() : undefined;
  const all = stores
    .filter((store) => store !== "redis" || redis)
    .flatMap((store) => applications.map((kind) => /** @type {const} */ ([store, kind])));
  const each = Math.min(messages, count(messages));
  try {
    const found = await interleave(
      rounds,
      all.map(
        ([store, kind]) =>
          () =>
            longestTurn(store, kind, each, redis?.url ?? ""),
      ),
      deadline,
    );
    const rows = all.map(([store, kind], at) => ({
      what: `longest turn, ${clients} clients x ${each} messages, ${store}, ${kind}`,
      unit: "ms CPU",
      values: found[at] ?? [],
    }));
    console.log(readings(rows));
    return rows.map(({ what, values }) => ({
      ...{ what, values, aim: maxMs, unit: "ms" },
      bound: /** @type {const} */ ("at most"),
    }));
  } finally {
    await redis?.stop();
  }
}
