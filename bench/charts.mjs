// npm run charts [-- --check]: draws docs/images/performance-*.svg from bench/results/servers.json,
// and writes the figures of the same run into docs/performance.md. With --check it only compares.
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { drawBars } from "./charts/bars.mjs";
import { drawCurves } from "./charts/curves.mjs";
import { echoTable, latencyTable, machineText } from "./charts/tables.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const source = "bench/results/servers.json";
const page = "docs/performance.md";

/** @typedef {{ command: string, machine: string, records: import("./report.mjs").Record[] }} Results */

/** @param {string} file */
const read = (file) => {
  try {
    return readFileSync(path.join(root, file), "utf8");
  } catch {
    return "";
  }
};

/** @type {Results} */
const results = JSON.parse(read(source));

/** @param {(title: string) => boolean} matches @returns {import("./report.mjs").Record} */
function recordOf(matches) {
  const found = results.records.find(({ title }) => matches(title));
  if (!found) throw new Error(`${source} lacks a workload: run echo and latency`);
  return found;
}

const rates = [1, 16].map((inFlight) => ({
  label: `${inFlight} in flight`,
  ...recordOf((title) => title.startsWith(`echo, ${inFlight} in flight`)),
}));
const latencies = [50, 80, 95].map((share) => ({
  label: `${share} %`,
  ...recordOf((title) => title.startsWith(`latency at ${share} %`)),
}));

/** Replaces the text between two comments of the page. @param {string} text @param {string} name
 * @param {string} content */
function fill(text, name, content) {
  const [start, end] = [`<!-- ${name} -->\n`, `<!-- end of ${name} -->`];
  const from = text.indexOf(start);
  const to = text.indexOf(end);
  if (from === -1 || to < from) throw new Error(`${page} lacks the comments of "${name}"`);
  return `${text.slice(0, from + start.length)}\n${content}\n${text.slice(to)}`;
}

const tables = {
  machine: machineText(results),
  echo: echoTable(rates),
  latency: latencyTable(latencies),
};
const files = {
  "docs/images/performance-rates.svg": drawBars("Messages per second", rates),
  "docs/images/performance-latency.svg": drawCurves("Latency in ms", latencies),
  [page]: Object.entries(tables).reduce((text, [name, part]) => fill(text, name, part), read(page)),
};
const stale = Object.entries(files).filter(([file, content]) => read(file) !== content);
if (!process.argv.includes("--check"))
  for (const [file, content] of stale) writeFileSync(path.join(root, file), content);
else if (stale.length > 0) {
  process.stderr.write(`Run npm run charts: ${stale.map(([file]) => file).join(", ")}\n`);
  process.exit(1);
}
