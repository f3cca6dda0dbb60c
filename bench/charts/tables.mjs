// The figures of the charts as Markdown, in the form of the formatter.
import { figure, times } from "../report.mjs";
import { shownIn } from "./svg.mjs";

/** @typedef {import("./svg.mjs").Labelled} Labelled */

/** @param {readonly (readonly string[])[]} lines The first is the head */
function table(lines) {
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(3, ...lines.map((cells) => (cells[column] ?? "").length)),
  );
  const row = (/** @type {readonly string[]} */ cells) =>
    `| ${widths.map((size, column) => (cells[column] ?? "").padEnd(size)).join(" | ")} |`;
  const [head = [], ...rest] = lines;
  return `${[row(head), row(widths.map((size) => "-".repeat(size))), ...rest.map(row)].join("\n")}\n`;
}

/** @param {Labelled} record @param {string} id */
const valuesOf = (record, id) => shownIn(record).find((each) => each.id === id)?.values ?? {};

/** @param {number} value To the nearest hundred */
const thousands = (value) => (Math.round(value / 100) * 100).toLocaleString("en");

/** Rates, their ratios to `ws`, and processor times. @param {readonly Labelled[]} records */
export function echoTable(records) {
  const head = records.flatMap(({ label }) => [`${label}, messages/s`, "processor time"]);
  const [first] = records;
  const rows = (first ? shownIn(first) : []).map(({ id, name }) => [
    name,
    ...records.flatMap((record) => {
      const { rate = 0, cost = 0 } = valuesOf(record, id);
      const ratio = times(rate / (valuesOf(record, "ws")["rate"] ?? Number.NaN));
      return [`${thousands(rate)} (${ratio})`, `${figure(cost)} µs`];
    }),
  ]);
  return table([["server", ...head], ...rows]);
}

/** The 99th percentiles, and the median at the lowest rate. @param {readonly Labelled[]} records */
export function latencyTable(records) {
  const [first] = records;
  if (!first) return "";
  const head = ["server", `rate at ${first.label}`, `median at ${first.label}`];
  const rows = shownIn(first).map(({ id, name, values: { rate = 0, p50 = 0 } }) => [
    name,
    `${thousands(rate)} /s`,
    `${figure(p50)} ms`,
    ...records.map((record) => `${figure(valuesOf(record, id)["p99"] ?? 0)} ms`),
  ]);
  return table([[...head, ...records.map(({ label }) => `99 % at ${label}`)], ...rows]);
}

/** @param {import("../charts.mjs").Results} results */
export function machineText({ command, machine }) {
  const [cores = "", software = ""] = machine.split("\n");
  return `\`${command}\`\non ${cores}; ${software}.\n`;
}
