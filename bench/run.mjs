// npm run bench [-- workload ...] [--quick]: what the product costs beside others that do the same.
// Each comparison is interleaved in one run: the ratios are what can be compared, figures of
// different machines cannot.
import { parseArgs } from "node:util";
import { describeMachine, load } from "./machine.mjs";
import { verdicts } from "./report.mjs";
import { isBuilt } from "./servers.mjs";
import { measureCurves } from "./workloads/curves.mjs";
import { measureEcho, measureSessions } from "./workloads/echo.mjs";
import { measureFootprint } from "./workloads/footprint.mjs";
import { measureHandshakes } from "./workloads/handshakes.mjs";
import { measureFanOut, measureStreams } from "./workloads/hearing.mjs";
import { measureIdle } from "./workloads/idle.mjs";
import { measureLogins } from "./workloads/logins.mjs";
import { measureMemory, measureStart } from "./workloads/start.mjs";
import { measureStore } from "./workloads/store.mjs";

/** @type {Record<string, (size: import("./compare.mjs").Size) =>
 *  Promise<import("./report.mjs").Target[]>>} */
const workloads = {
  start: measureStart,
  memory: measureMemory,
  installed: measureFootprint,
  logins: measureLogins,
  handshakes: measureHandshakes,
  echo: measureEcho,
  sessions: measureSessions,
  fanout: measureFanOut,
  streams: measureStreams,
  curves: measureCurves,
  idle: measureIdle,
  store: measureStore,
};
const peers = ["ws", "raw writes", "socket.io", "hocuspocus", "gorilla"];
/** Then rounds and workloads are left out. */
const mostMinutes = 20;
const usage = `npm run bench -- [workload ...] [--quick | --tiny] [--peers a,b]

workloads  ${Object.keys(workloads).join(", ")}; none: all
           in all at most some ${mostMinutes} minutes: rounds are left out rather than time
--quick    fewer and shorter rounds, a fifth of the connections: a workload takes under a minute
--tiny     whether it works at all
--peers    of ${peers.join(", ")}; for installing them: npm ci --prefix bench
`;

/** @param {string} complaint @returns {never} */
function refuse(complaint) {
  process.stderr.write(`${complaint}\n\n${usage}`);
  process.exit(2);
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        quick: { type: "boolean" },
        tiny: { type: "boolean" },
        peers: { type: "string" },
        help: { type: "boolean" },
      },
    });
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

const {
  values: { quick, tiny, peers: list, help },
  positionals: chosen,
} = readArguments();
if (help) {
  process.stdout.write(usage);
  process.exit();
}
const unknown = chosen.filter((name) => !Object.hasOwn(workloads, name));
if (unknown.length > 0) refuse(`no workload is called ${unknown.join(", ")}`);
const wanted = list?.split(",");
const strangers = wanted?.filter((name) => !peers.includes(name)) ?? [];
if (strangers.length > 0) refuse(`no peer is called ${strangers.join(", ")}`);
if (!isBuilt()) refuse("there is no dist/: npm run build");

const part = (/** @type {number} */ of) => (/** @type {number} */ full) =>
  Math.max(2, Math.ceil(full / of));
const base = { peers: wanted, deadline: performance.now() + mostMinutes * 60_000 };
/** @type {import("./compare.mjs").Size} */
const size = tiny
  ? { ...base, rounds: 1, seconds: 0.1, count: part(250) }
  : quick
    ? { ...base, rounds: 3, seconds: 0.6, count: part(5) }
    : { ...base, rounds: 5, seconds: 2, count: part(1) };

// With it Node 20 reads a bundle of certificates at each start, 80 to 150 ms for what no workload
// uses.
delete process.env.NODE_EXTRA_CA_CERTS;

console.log(`${describeMachine()}\nload of the machine at the beginning: ${load()}\n`);
const targets = [];
for (const [name, measure] of Object.entries(workloads)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  const began = performance.now();
  if (began > size.deadline) {
    console.log(`## ${name}: left out, the time is over\n`);
    continue;
  }
  console.log(`## ${name}\n`);
  targets.push(...(await measure(size)));
  console.log(`\n${name}: ${((performance.now() - began) / 1_000).toFixed(0)} s\n`);
}
if (targets.length > 0) console.log(`## Targets\n\n${verdicts(targets)}\n`);
console.log(`load of the machine at the end: ${load()}`);
