/** @typedef {import("./compare.mjs").Series} Series */
/**
 * @typedef {object} Target
 * @property {string} what
 * @property {number} aim
 * @property {"at least" | "at most"} bound
 * @property {readonly number[]} values one of each run
 * @property {string} unit
 * @property {readonly number[]} [byProcessor] the same from the servers' processor time: steadier where others work too
 */

/** @param {readonly number[]} values */
export const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[half] ?? 0)
    : ((sorted[half - 1] ?? 0) + (sorted[half] ?? 0)) / 2;
};

/** Quotients of the runs that followed each other. @param {readonly number[]} above @param
 *  {readonly number[]} below */
export const ratios = (above, below) =>
  above.slice(0, below.length).map((value, at) => value / (below[at] ?? Number.NaN));

/** @param {number} value */
export const figure = (value) => {
  if (!Number.isFinite(value)) return "-";
  return value < 10
    ? value.toFixed(2)
    : value < 100
      ? value.toFixed(1)
      : Math.round(value).toLocaleString("en");
};

/** @param {number} value */
export const times = (value) => (Number.isFinite(value) ? `${value.toFixed(2)}x` : "-");

/** "least / median / greatest". @param {readonly number[]} values @param {(value: number) =>
 *  string} [show] */
export const spread = (values, show = figure) =>
  values.length === 0
    ? "-"
    : [Math.min(...values), median(values), Math.max(...values)].map(show).join(" / ");

/** A load generator that works nearly all the time may be the slower side. */
const tooBusy = 0.95;

/**
 * Rates and processor time of several servers, beside those of one of them.
 * @param {string} title @param {string} unit of the rate, "messages/s" @param {string} base name of that one
 * @param {readonly Series[]} all
 */
export function comparison(title, unit, base, all) {
  const below = samplesOf(all, base);
  const rows = all.map(({ name, samples }) => {
    const busy = median(samples.map(({ busy }) => busy));
    return [
      name,
      spread(samples.map(rate)),
      spread(ratios(samples.map(rate), below.map(rate)), times),
      spread(samples.map(cost)),
      spread(ratios(samples.map(cost), below.map(cost)), times),
      `${(busy * 100).toFixed(0)} %${busy > tooBusy ? " (!)" : ""}`,
    ];
  });
  const runs = Math.min(...all.map(({ samples }) => samples.length));
  const head = ["server", unit, `of ${base}`, "server CPU, µs each", `of ${base}`, "load CPU"];
  return `${title}; least / median / greatest of ${runs}\n\n${grid([head, ...rows])}\n`;
}

/** @param {import("./compare.mjs").Sample} sample */
const rate = ({ rate }) => rate;
/** @param {import("./compare.mjs").Sample} sample */
const cost = ({ cost }) => cost;
/** @param {readonly Series[]} all @param {string} name */
const samplesOf = (all, name) => all.find((series) => series.name === name)?.samples ?? [];

/** Markdown, with columns as wide as their widest cell. @param {readonly (readonly string[])[]}
 *  lines */
export function grid(lines) {
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => (line[column] ?? "").length)),
  );
  const padded = lines.map((line) =>
    widths.map((width, column) => (line[column] ?? "").padEnd(width)),
  );
  const written = padded.map((cells) => `| ${cells.join(" | ")} |`);
  written.splice(1, 0, `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`);
  return written.join("\n");
}

/** @param {readonly { what: string, unit: string, values: readonly number[] }[]} rows */
export function readings(rows) {
  const lines = rows.map(({ what, unit, values }) => [
    what,
    spread(values),
    unit,
    String(values.length),
  ]);
  return `${grid([["measured", "least / median / greatest", "unit", "runs"], ...lines])}\n`;
}

/** How many times as fast as another server: at least that. @param {string} what @param {number} aim
 * @param {readonly Series[]} all @param {string} name @param {string} base @returns {Target} */
export function rateTarget(what, aim, all, name, base) {
  const [ours, theirs] = [samplesOf(all, name), samplesOf(all, base)];
  return {
    what,
    aim,
    bound: "at least",
    unit: "x",
    values: ratios(ours.map(rate), theirs.map(rate)),
    byProcessor: ratios(theirs.map(cost), ours.map(cost)),
  };
}

/** How many times as long as another server: at most that. @type {typeof rateTarget} */
export const timeTarget = (what, aim, all, name, base) => ({
  ...rateTarget(what, aim, all, base, name),
  bound: "at most",
});

/** @param {readonly Target[]} targets without values: the other server was not there */
export function verdicts(targets) {
  const rows = targets
    .filter(({ values }) => values.length > 0)
    .map((target) => {
      const { what, aim, bound, values, unit, byProcessor = [] } = target;
      const found = median(values);
      const show =
        unit === "x" ? times : (/** @type {number} */ value) => `${figure(value)} ${unit}`;
      const isMet = bound === "at least" ? found >= aim : found <= aim;
      return [
        what,
        `${bound} ${show(aim)}`,
        spread(values, show),
        isMet ? "met" : "missed",
        spread(byProcessor, show),
      ];
    });
  return grid([["target", "aim", "least / median / greatest", "", "by processor time"], ...rows]);
}
