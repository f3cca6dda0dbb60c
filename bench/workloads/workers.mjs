// npm run bench -- workers: one worker and two that share one Redis server, by processor time.
import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { interleave } from "../rounds.mjs";
import { startGenerator } from "../load/index.mjs";
import { processorSeconds } from "../load/processor.mjs";
import { succeeds } from "../machine.mjs";
import { readings } from "../report.mjs";
import { freePorts, startServer } from "../servers.mjs";
import { nodeEnvironment, startRedis } from "./nodes.mjs";

const connections = 50;

/** Resolves when the dashboard of the last worker answers. @param {number} port */
async function untilReady(port) {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    if (response?.status === 200) return;
    if (performance.now() > deadline) throw new Error(`no worker answers at port ${port}`);
    await wait(20);
  }
}

/** The process and its child processes (Linux). @param {number} pid */
const processesOf = (pid) => [
  pid,
  ...readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .split(" ")
    .filter(Boolean)
    .map(Number),
];

/** Starts workers with the load generator. @param {number} count @param {string} url */
async function startWorkers(count, url) {
  // The workers take the ports that follow the first one.
  const port = await freePorts(count + 1);
  const gateway = port + count;
  const server = await startServer("doorward, nodes", {
    port,
    env: {
      ...nodeEnvironment(url),
      SERVICE_STORE_PREFIX: `bench-${count}`,
      SERVICE_GATEWAY_PORT: String(gateway),
      SERVICE_WORKERS: String(count),
    },
  });
  await untilReady(port + count - 1);
  const pids = processesOf(server.pid);
  const generator = await startGenerator(server, "any");
  await generator.ask("setTarget", { protocol: server.protocol, port: gateway, pid: pids });
  await generator.ask("connect", { connections, perSession: 1 });
  return { generator, pids, stop: () => generator.stop().then(() => server.stop("SIGTERM")) };
}

/** @param {import("../rounds.mjs").Size} size @returns {Promise<import("../report.mjs").Target[]>} */
export async function measureWorkers(size) {
  if (!succeeds("redis-server", ["--version"]) || process.platform !== "linux") {
    console.log("  without workers: needs redis-server and Linux");
    return [];
  }
  const redis = await startRedis();
  const servers = [await startWorkers(1, redis.url), await startWorkers(2, redis.url)];
  try {
    const measures = servers.map(({ generator, pids }) => async () => {
      const all = [...pids, redis.pid];
      const before = all.map((pid) => processorSeconds(pid));
      const { done, seconds } = await generator.ask("exchange", {
        inFlight: 4,
        seconds: size.seconds * 2,
      });
      const each = all.map((pid, at) => ((processorSeconds(pid) - (before[at] ?? 0)) / done) * 1e6);
      const ofRedis = /** @type {number} */ (each.at(-1));
      const launcher = each.slice(0, -1).reduce((sum, one) => sum + one, 0);
      return { rate: done / seconds, launcher, redis: ofRedis, busiest: Math.max(...each) };
    });
    const found = await interleave(size.rounds, measures, size.deadline);
    for (const [at, samples = []] of found.entries()) {
      const what = `${at + 1} worker${at === 0 ? "" : "s"}`;
      console.log(
        readings([
          { what, unit: "messages/s", values: samples.map(({ rate }) => rate) },
          { what: "launcher", unit: "µs CPU each", values: samples.map((one) => one.launcher) },
          { what: "Redis", unit: "µs CPU each", values: samples.map((one) => one.redis) },
          {
            what: "busiest process",
            unit: "µs CPU each",
            values: samples.map((one) => one.busiest),
          },
        ]),
      );
    }
    const [one = [], two = []] = found;
    // With a core for each process, the busiest one limits the rate.
    return [
      {
        what: "rate of two workers with a core for each process, of one",
        aim: 1.7,
        bound: /** @type {const} */ ("at least"),
        unit: "x",
        values: two.map(({ busiest }, at) => (one[at]?.busiest ?? Number.NaN) / busiest),
      },
    ];
  } finally {
    for (const server of servers) await server.stop();
    await redis.stop();
  }
}
