// npm run bench -- nodes: two nodes that share their sessions through one Redis server.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { WebSocket } from "ws";
import { interleave, sampleOf } from "../rounds.mjs";
import { startGenerator } from "../load/index.mjs";
import { processorSeconds } from "../load/processor.mjs";
import { succeeds } from "../machine.mjs";
import { readings } from "../report.mjs";
import { freePort, startProcess, startServer } from "../servers.mjs";
import { picoToken } from "../settings.mjs";

/** @typedef {import("../rounds.mjs").Size} Size */
/** @typedef {import("../servers.mjs").Server} Server */

const secret = "bench-secret-of-the-nodes-0000000000";
/** The environment of a node. @param {string} url */
export const nodeEnvironment = (url) => ({
  SERVICE_STORE_KIND: "redis",
  SERVICE_STORE_URL: url,
  SERVICE_STORE_SECRET: secret,
});
const frames = 256;

/** Starts a Redis server that writes nothing to disk. */
export async function startRedis() {
  const port = await freePort();
  const folder = await mkdtemp(path.join(tmpdir(), "doorward-bench-redis-"));
  const quiet = ["--save", "", "--bind", "127.0.0.1", "--dir", folder];
  const server = startProcess("redis-server", ["--port", String(port), ...quiet], {}, "any");
  await server.listening(port);
  return {
    url: `redis://127.0.0.1:${port}`,
    pid: server.pid,
    async stop() {
      await server.stop("SIGKILL");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Starts Redis and nodes, and stops them after use.
 * @template T @param {number} count
 * @param {(nodes: readonly [Server, ...Server[]], redis: number) => Promise<T>} use */
async function withNodes(count, use) {
  const redis = await startRedis();
  /** @type {Server[]} */
  const nodes = [];
  try {
    for (let at = 0; at < count; at += 1)
      nodes.push(await startServer("doorward, nodes", { env: nodeEnvironment(redis.url) }));
    const [first, ...others] = nodes;
    if (!first) throw new Error("no node was started");
    return await use([first, ...others], redis.pid);
  } finally {
    for (const node of nodes) await node.stop();
    await redis.stop();
  }
}

/** Starts a load generator whose connections are spread evenly over the nodes.
 * @param {readonly [Server, ...Server[]]} nodes @param {number} redis
 * @param {{ protocol: Server["protocol"], connections: number, perSession: number }} load */
async function connectAll(nodes, redis, { protocol, connections, perSession }) {
  const pid = [...nodes.map((node) => node.pid), redis];
  const generator = await startGenerator({ ...nodes[0], protocol }, "any");
  for (const [at, { port }] of nodes.entries()) {
    await generator.ask("setTarget", { protocol, port, pid });
    const share = Math.ceil((connections * (at + 1)) / nodes.length);
    await generator.ask("connect", { connections: share, perSession });
  }
  return generator;
}

/** Echoes messages over two nodes, each answered by the node of its client. @param {Size} size */
async function measureEcho(size) {
  const loads = /** @type {const} */ ([
    [64, 1],
    [500, 4],
  ]);
  /** @type {import("../report.mjs").Target[]} */
  const targets = [];
  for (const [connections, inFlight] of loads)
    await withNodes(2, async (nodes, redis) => {
      const count = size.count(connections);
      const load = { protocol: nodes[0].protocol, connections: count, perSession: 1 };
      const generator = await connectAll(nodes, redis, load);
      try {
        const measure = async () => {
          const before = processorSeconds(redis);
          const result = await generator.ask("exchange", { inFlight, seconds: size.seconds * 2 });
          const ofRedis = ((processorSeconds(redis) - before) / result.done) * 1e6;
          return { ...sampleOf(result), redis: ofRedis, load: (result.own / result.done) * 1e6 };
        };
        const [found = []] = await interleave(size.rounds, [measure], size.deadline);
        const what = `${count} sessions, ${inFlight} in flight`;
        const cost = found.map(({ cost, load }) => cost + load);
        console.log(
          readings([
            { what, unit: "messages/s", values: found.map(({ rate }) => rate) },
            { what: "nodes and Redis", unit: "µs CPU each", values: found.map((one) => one.cost) },
            { what: "Redis alone", unit: "µs CPU each", values: found.map((one) => one.redis) },
            { what: "load generator", unit: "µs CPU each", values: found.map((one) => one.load) },
          ]),
        );
        targets.push(
          {
            what: `two nodes, ${what}`,
            aim: 10_000,
            bound: /** @type {const} */ ("at least"),
            unit: "messages/s",
            values: found.map(({ rate }) => rate),
          },
          {
            what: `the same, all processes on two cores by processor time`,
            aim: 10_000,
            bound: /** @type {const} */ ("at least"),
            unit: "messages/s",
            values: cost.map((each) => 2e6 / each),
          },
        );
      } finally {
        await generator.stop();
      }
    });
  return targets;
}

/** @param {number} port @param {string} query
 *  @returns {Promise<{ socket: WebSocket, next: () => Promise<any> }>} */
async function join(port, query) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/pico?pico_ext=1&${query}`, {
    headers: { Authorization: `Bearer ${picoToken}` },
  });
  /** @type {any[]} */
  const waiting = [];
  let wake = () => {};
  socket.on("message", (data) => {
    waiting.push(data);
    wake();
  });
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const next = async () => {
    while (waiting.length === 0) await new Promise((resolve) => (wake = () => resolve(undefined)));
    return JSON.parse(String(waiting.shift()));
  };
  return { socket, next };
}

/** Measures the time from the upgrade request to the last of 256 frames, which the other node wrote.
 * @param {Size} size */
const measureResume = (size) =>
  withNodes(2, async ([a, b]) => {
    const writer = await join(a.port, "session_id=resumed");
    const hello = await writer.next();
    const first = `${hello.payload.epoch}:0`;
    for (let seq = 0; seq < frames;) {
      if (seq % 2 === 0) {
        const payload = { content: "a message of some length, as people write them" };
        writer.socket.send(JSON.stringify({ type: "message.send", id: `m${seq}`, payload }));
      }
      const frame = await writer.next();
      seq = Math.max(seq, frame.seq ?? 0);
    }
    const node = /** @type {Server} */ (b);
    /** @type {number[]} */
    const values = [];
    for (let at = 0; at < size.count(200) + 5; at += 1) {
      const began = performance.now();
      const reader = await join(node.port, `session_id=resumed&resume=${first}`);
      for (let seq = 0; seq < frames;) seq = (await reader.next()).seq ?? seq;
      if (at >= 5) values.push(performance.now() - began);
      reader.socket.terminate();
    }
    writer.socket.terminate();
    values.sort((one, other) => one - other);
    const share = (/** @type {number} */ part) => values[Math.floor(values.length * part)] ?? 0;
    const rows = [{ what: `resume of ${frames} frames on the other node`, unit: "ms", values }];
    console.log(readings(rows));
    return [
      {
        what: `resume of ${frames} frames, p50`,
        aim: 5,
        bound: /** @type {const} */ ("at most"),
        unit: "ms",
        values: [share(0.5)],
      },
    ];
  });

/** Sends messages to all connections of a session, on one node and on two. @param {Size} size */
async function measureFanOut(size) {
  const connections = size.count(5_000);
  /** @param {number} count */
  const measure = (count) =>
    withNodes(count, async (nodes, redis) => {
      const load = {
        protocol: /** @type {const} */ ("pico"),
        connections,
        perSession: connections,
      };
      const generator = await connectAll(nodes, redis, load);
      try {
        return sampleOf(await generator.ask("fanOut", { seconds: size.seconds }));
      } finally {
        await generator.stop();
      }
    });
  const rounds = Math.min(size.rounds, 3);
  const found = await interleave(rounds, [() => measure(1), () => measure(2)], size.deadline);
  const [one = [], two = []] = found.map((samples) => samples.map(({ rate }) => rate));
  const cost = found.map((samples) => samples.map((sample) => sample.cost));
  console.log(
    readings([
      { what: `to ${connections} connections of one node`, unit: "deliveries/s", values: one },
      { what: "of two nodes", unit: "deliveries/s", values: two },
      { what: "one node and Redis", unit: "µs CPU each", values: cost[0] ?? [] },
      { what: "two nodes and Redis", unit: "µs CPU each", values: cost[1] ?? [] },
    ]),
  );
  return [
    {
      what: "fan-out over two nodes, time of one node",
      aim: 1.5,
      bound: /** @type {const} */ ("at most"),
      unit: "x",
      values: one.map((rate, at) => rate / (two[at] ?? Number.NaN)),
      byProcessor: (cost[1] ?? []).map((each, at) => each / (cost[0]?.[at] ?? Number.NaN)),
    },
  ];
}

/** @param {Size} size @returns {Promise<import("../report.mjs").Target[]>} */
export async function measureNodes(size) {
  if (!succeeds("redis-server", ["--version"])) {
    console.log("  without nodes: redis-server is not installed");
    return [];
  }
  return [
    ...(await measureEcho(size)),
    ...(await measureResume(size)),
    ...(await measureFanOut(size)),
  ];
}
