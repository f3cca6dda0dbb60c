/**
 * @typedef {object} Row
 * @property {string} what
 * @property {string} unit
 * @property {readonly number[]} values one of each run
 * @property {string} [against] the ratio of the medians, and to what
 * @property {string} [aim]
 */

/** @param {readonly number[]} values */
export const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[half] ?? 0) : ((sorted[half - 1] ?? 0) + (sorted[half] ?? 0)) / 2;
};

/** @param {readonly number[]} ours @param {readonly number[]} theirs */
export const ratio = (ours, theirs) => `${(median(ours) / median(theirs)).toFixed(2)}x`;

/** Runs each measurement once as warm-up, then all in turn, so that a slow moment of the machine hits all alike.
 * @param {number} rounds @param {readonly (() => Promise<number>)[]} measurements
 * @returns {Promise<number[][]>} the values of each measurement */
export async function interleave(rounds, measurements) {
  for (const measure of measurements) await measure();
  /** @type {number[][]} */
  const values = measurements.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [at, measure] of measurements.entries()) values[at]?.push(await measure());
  }
  return values;
}

/** Markdown, with columns as wide as their widest cell. @param {readonly Row[]} rows */
export function table(rows) {
  const lines = [
    ["measured", "min", "median", "max", "unit", "ratio", "aim"],
    ...rows.map(({ what, values, unit, against = "", aim = "" }) => {
      const shown = [Math.min(...values), median(values), Math.max(...values)].map((value) => figure(value));
      return [what, ...shown, unit, against, aim];
    }),
  ];
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => (line[column] ?? "").length)));
  const padded = lines.map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)));
  const written = padded.map((cells) => `| ${cells.join(" | ")} |`);
  written.splice(1, 0, `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`);
  return written.join("\n");
}

/** @param {number} value */
const figure = (value) => (value < 100 ? value.toFixed(1) : String(Math.round(value)));
