// npm run bench -- rolling: restarts three nodes one after the other while clients send and receive.
import { WebSocket } from "ws";
import { maxOpenFiles, succeeds } from "../machine.mjs";
import { readings } from "../report.mjs";
import { startServer } from "../servers.mjs";
import { picoToken } from "../settings.mjs";
import { nodeEnvironment, startRedis } from "./nodes.mjs";

/** @typedef {import("../servers.mjs").Server} Server */

/** Messages of all clients together, each second. */
const messagesPerSecond = 200;
/** Each source address has some 28,000 ports. */
const addresses = 16;
const { connect } = await import(
  new URL("../../dist/lib/pico-link/client.js", import.meta.url).href
);

/** Resolves when the check is true. @param {() => boolean} check @param {number} seconds
 *  @param {string} what */
async function until(check, seconds, what) {
  for (const deadline = performance.now() + seconds * 1_000; !check();) {
    if (performance.now() > deadline) throw new Error(`${what} took more than ${seconds} s`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Clients that connect to any of the ports, as behind a balancer. @param {number[]} ports */
function createCrowd(ports) {
  let opened = 0;
  class BalancedSocket extends WebSocket {
    /** @param {string} address @param {object} options */
    constructor(address, options) {
      const url = new URL(address);
      opened += 1;
      url.port = String(ports[opened % ports.length]);
      super(url, { ...options, localAddress: `127.0.0.${2 + (opened % addresses)}` });
    }
  }
  const crowd = {
    clients: /** @type {any[]} */ ([]),
    online: 0,
    gaps: 0,
    sent: 0,
    /** Content -> how often its reply was received. @type {Map<string, number>} */
    replies: new Map(),
    failed: 0,
    /** Times at which a client came back. @type {number[]} */
    returns: [],
    /** @param {number} at */
    add(at) {
      let isOnline = false;
      const client = connect({
        url: "ws://127.0.0.1:1/pico",
        token: picoToken,
        sessionId: `rolling-${at}`,
        WebSocket: BalancedSocket,
        onMessage: (/** @type {{ content: string, final: boolean }} */ { content, final }) => {
          if (final) crowd.replies.set(content, (crowd.replies.get(content) ?? 0) + 1);
        },
        onGap: () => (crowd.gaps += 1),
        onState: (/** @type {{ to: string }} */ { to }) => {
          const isNow = to === "open";
          if (isNow === isOnline) return;
          isOnline = isNow;
          crowd.online += isNow ? 1 : -1;
          if (isNow) crowd.returns.push(performance.now());
        },
      });
      crowd.clients.push(client);
    },
    say() {
      const client = crowd.clients[crowd.sent % crowd.clients.length];
      const content = `message ${(crowd.sent += 1)}`;
      client.send(content).accepted.catch(() => (crowd.failed += 1));
    },
    stop() {
      for (const client of crowd.clients) client.close();
    },
  };
  return crowd;
}

/** The largest number of returns in one second. @param {readonly number[]} returns */
function busiestSecond(returns) {
  let most = 0;
  let first = 0;
  for (const [at, time] of returns.entries()) {
    while (time - (returns[first] ?? 0) > 1_000) first += 1;
    most = Math.max(most, at - first + 1);
  }
  return most;
}

/** Restarts each of three nodes, and waits for all clients after each restart.
 * @param {number} connections */
export async function restartNodes(connections) {
  const redis = await startRedis();
  const env = { ...nodeEnvironment(redis.url) };
  /** @type {Server[]} */
  const nodes = [];
  /** @type {number[]} */
  const ports = [];
  const crowd = createCrowd(ports);
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  try {
    for (let at = 0; at < 3; at += 1) nodes.push(await startServer("doorward, nodes", { env }));
    ports.push(...nodes.map(({ port }) => port));
    for (let at = 0; at < connections; at += 1) {
      if (at - crowd.online > 200) await until(() => at - crowd.online < 100, 60, "opening");
      crowd.add(at);
    }
    await until(() => crowd.online === connections, 120, "opening");
    timer = setInterval(() => crowd.say(), 1_000 / messagesPerSecond);
    const rounds = [];
    for (const [at, node] of nodes.entries()) {
      crowd.returns.length = 0;
      const began = performance.now();
      ports.splice(ports.indexOf(node.port), 1);
      await node.stop("SIGTERM");
      nodes[at] = await startServer("doorward, nodes", { env, port: node.port });
      ports.push(node.port);
      await until(() => crowd.online === connections, 180, "the return of all clients");
      const seconds = (performance.now() - began) / 1_000;
      rounds.push({
        seconds,
        returned: crowd.returns.length,
        busiest: busiestSecond(crowd.returns),
      });
    }
    clearInterval(timer);
    const { sent, replies } = crowd;
    await until(() => replies.size + crowd.failed >= sent, 60, "the last reply").catch(() => {});
    const repeated = [...replies.values()].filter((count) => count > 1).length;
    return { rounds, sent, lost: sent - replies.size, repeated, gaps: crowd.gaps };
  } finally {
    clearInterval(timer);
    crowd.stop();
    for (const node of nodes) await node.stop();
    await redis.stop();
  }
}

/** @param {import("../rounds.mjs").Size} size @returns {Promise<import("../report.mjs").Target[]>} */
export async function measureRolling(size) {
  if (!succeeds("redis-server", ["--version"])) {
    console.log("  without nodes: redis-server is not installed");
    return [];
  }
  const connections = Math.min(size.count(15_000), maxOpenFiles() - 1_000);
  const { rounds, sent, lost, repeated, gaps } = await restartNodes(connections);
  console.log(`${connections} clients of three nodes, ${sent} messages: ${lost} replies lost,`);
  console.log(`${repeated} repeated, ${gaps} gaps\n`);
  console.log(
    readings([
      { what: "restart of one node", unit: "s", values: rounds.map(({ seconds }) => seconds) },
      { what: "clients that return", unit: "", values: rounds.map(({ returned }) => returned) },
      { what: "in the busiest second", unit: "", values: rounds.map(({ busiest }) => busiest) },
    ]),
  );
  return [
    {
      what: "replies lost in a rolling restart",
      aim: 0,
      bound: "at most",
      unit: "",
      values: [lost],
    },
  ];
}
