// npm run bench [-- workload ...]: compares Doorward with other servers, or with another commit of
// itself. The servers of a comparison are measured in turn, so the ratios of one run are comparable.
// Figures of different machines are not.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { checkOut } from "./checkout.mjs";
import { describeMachine, load } from "./machine.mjs";
import { records, verdicts } from "./report.mjs";
import { isBuilt } from "./servers.mjs";
import { measureCurves } from "./workloads/curves.mjs";
import { measureEcho, measureSessions } from "./workloads/echo.mjs";
import { measureFanOut, measureStreams } from "./workloads/fan-out.mjs";
import { measureFootprint } from "./workloads/footprint.mjs";
import { measureHandshakes } from "./workloads/handshakes.mjs";
import { measureIdle } from "./workloads/idle.mjs";
import { measureLatency } from "./workloads/latency.mjs";
import { measureLogins } from "./workloads/logins.mjs";
import { measureMemory, measureStart } from "./workloads/start.mjs";
import { measureNodes } from "./workloads/nodes.mjs";
import { measureRolling } from "./workloads/rolling.mjs";
import { measureProtocols } from "./workloads/protocols.mjs";
import { measureDurable } from "./workloads/durable.mjs";
import { measureStore } from "./workloads/store.mjs";
import { measureTurns } from "./workloads/turns.mjs";

/** @type {Record<string, (size: import("./rounds.mjs").Size) =>
 *  Promise<import("./report.mjs").Target[]>>} */
const workloads = {
  start: measureStart,
  memory: measureMemory,
  installed: measureFootprint,
  logins: measureLogins,
  handshakes: measureHandshakes,
  echo: measureEcho,
  sessions: measureSessions,
  latency: measureLatency,
  fanout: measureFanOut,
  streams: measureStreams,
  curves: measureCurves,
  idle: measureIdle,
  store: measureStore,
  durable: measureDurable,
  turns: measureTurns,
  nodes: measureNodes,
  rolling: measureRolling,
  protocols: measureProtocols,
};
const peers = [
  "bare sse",
  "ws",
  "ws and sqlite",
  "raw writes",
  "socket.io",
  "hocuspocus",
  "gorilla",
  "bun",
];
/** After this time, rounds and workloads are skipped. */
const maxMinutes = 20;
const usage = `npm run bench -- [workload ...] [options]

workloads         ${Object.keys(workloads).join(", ")} (default all)
                  After about ${maxMinutes} minutes, remaining rounds are skipped
--quick           Fewer and shorter rounds, a fifth of the connections: under a minute per workload
--tiny            Only check that the workload runs
--peers A,B       Compare with these of ${peers.join(", ")}
                  Install them first: npm ci --prefix bench
--against COMMIT  Build this commit and compare with it instead of the peers
--json FILE       Write the medians to FILE
`;

/** @param {string} message @returns {never} */
function fail(message) {
  process.stderr.write(`${message}\n\n${usage}`);
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
        against: { type: "string" },
        json: { type: "string" },
        help: { type: "boolean" },
      },
    });
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

const { values: options, positionals: chosen } = readArguments();
if (options.help) {
  process.stdout.write(usage);
  process.exit();
}
const unknown = chosen.filter((name) => !Object.hasOwn(workloads, name));
if (unknown.length > 0) fail(`Unknown workload: ${unknown.join(", ")}`);
const wanted = options.peers?.split(",") ?? (options.against === undefined ? undefined : []);
const unknownPeers = wanted?.filter((name) => !peers.includes(name)) ?? [];
if (unknownPeers.length > 0) fail(`Unknown peer: ${unknownPeers.join(", ")}`);
if (!isBuilt()) fail("dist/ is missing. Run: npm run build");

const part = (/** @type {number} */ of) => (/** @type {number} */ full) =>
  Math.max(2, Math.ceil(full / of));
const against = options.against === undefined ? undefined : checkOut(options.against);
const base = { peers: wanted, against, deadline: performance.now() + maxMinutes * 60_000 };
/** @type {import("./rounds.mjs").Size} */
const size = options.tiny
  ? { ...base, rounds: 1, seconds: 0.1, count: part(250) }
  : options.quick
    ? { ...base, rounds: 3, seconds: 0.6, count: part(5) }
    : { ...base, rounds: 5, seconds: 2, count: part(1) };

// With this variable, Node 20 reads certificates for 80 to 150 ms at each start. No workload uses them.
delete process.env["NODE_EXTRA_CA_CERTS"];

const command = `npm run bench -- ${process.argv.slice(2).join(" ")}`.trim();
console.log(`${command}\n${describeMachine()}\nload of the machine at the start: ${load()}\n`);
const targets = [];
for (const [name, measure] of Object.entries(workloads)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  const began = performance.now();
  if (began > size.deadline) {
    console.log(`## ${name}: skipped after ${maxMinutes} minutes\n`);
    continue;
  }
  console.log(`## ${name}\n`);
  targets.push(...(await measure(size)));
  console.log(`\n${name}: ${((performance.now() - began) / 1_000).toFixed(0)} s\n`);
}
if (targets.length > 0) console.log(`## Targets\n\n${verdicts(targets)}\n`);
console.log(`load of the machine at the end: ${load()}`);
if (options.json !== undefined)
  writeFileSync(
    options.json,
    `${JSON.stringify({ command, machine: describeMachine(), records }, undefined, 2)}\n`,
  );
