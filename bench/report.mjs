/** @typedef {import("./rounds.mjs").Series} Series */
/**
 * @typedef {object} Target
 * @property {string} what
 * @property {number} aim
 * @property {"at least" | "at most"} bound
 * @property {readonly number[]} values One per round
 * @property {string} unit
 * @property {readonly number[]} [byProcessor] The same ratio of processor times, which is more stable
 *   on a busy machine
 *
 * @typedef {object} Record The medians of one comparison
 * @property {string} title
 * @property {string} unit
 * @property {readonly { server: string, values: Readonly<{ [name: string]: number }> }[]} rows
 */

/** The comparisons of this run, for `--json`. @type {Record[]} */
export const records = [];

/** @param {readonly number[]} values */
export const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[half] ?? 0)
    : ((sorted[half - 1] ?? 0) + (sorted[half] ?? 0)) / 2;
};

/** Divides the results of consecutive rounds. @param {readonly number[]} above
 * @param {readonly number[]} below */
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

/** Formats minimum, median and maximum. @param {readonly number[]} values
 * @param {(value: number) => string} [show] */
export const spread = (values, show = figure) =>
  values.length === 0
    ? "-"
    : [Math.min(...values), median(values), Math.max(...values)].map(show).join(" / ");

/** Above this share, the load generator may be slower than the server. */
const tooBusy = 0.95;

/**
 * Formats the rates and processor times of several servers, and their ratios to one of them.
 * @param {string} title @param {string} unit Of the rate, such as "messages/s"
 * @param {string} base Name of the server to compare with @param {readonly Series[]} all
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
  const count = Math.min(...all.map(({ samples }) => samples.length));
  const head = ["server", unit, `of ${base}`, "server CPU, µs each", `of ${base}`, "load CPU"];
  records.push({
    title,
    unit,
    rows: all.map(({ name, samples }) => ({
      server: name,
      values: { rate: median(samples.map(rate)), cost: median(samples.map(cost)) },
    })),
  });
  const table = grid([head, ...rows]);
  return `${title}; min / median / max of ${count}\n\n${table}\n${versions(unit, all)}`;
}

/** Compares each server with its other version, if there is one.
 * @param {string} unit @param {readonly Series[]} all */
function versions(unit, all) {
  const rows = all.flatMap(({ name, against, samples }) => {
    if (against === undefined) return [];
    const before = samplesOf(all, against);
    return [
      [
        name,
        against,
        spread(ratios(samples.map(rate), before.map(rate)), times),
        spread(ratios(samples.map(cost), before.map(cost)), times),
      ],
    ];
  });
  if (rows.length === 0) return "";
  return `\n${grid([["server", "compared with", unit, "server CPU each"], ...rows])}\n`;
}

/** @param {import("./rounds.mjs").Sample} sample */
const rate = ({ rate }) => rate;
/** @param {import("./rounds.mjs").Sample} sample */
const cost = ({ cost }) => cost;
/** @param {readonly Series[]} all @param {string} name */
const samplesOf = (all, name) => all.find((series) => series.name === name)?.samples ?? [];

/** Formats a Markdown table. @param {readonly (readonly string[])[]} lines The first is the head */
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
  return `${grid([["measured", "min / median / max", "unit", "rounds"], ...lines])}\n`;
}

/** Requires at least `aim` times the rate of another server.
 * @param {string} what @param {number} aim
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

/** Requires at most `aim` times the time of another server. @type {typeof rateTarget} */
export const timeTarget = (what, aim, all, name, base) => ({
  ...rateTarget(what, aim, all, base, name),
  bound: "at most",
});

/** Requires at most `aim` times the processor time of another server. @type {typeof rateTarget} */
export const processorTarget = (what, aim, all, name, base) =>
  timeTarget(
    what,
    aim,
    all.map(({ samples, ...series }) => ({
      ...series,
      samples: samples.map((sample) => ({ ...sample, rate: 1e6 / sample.cost })),
    })),
    name,
    base,
  );

/** Formats the targets. Those without values are left out: their peer is missing.
 * @param {readonly Target[]} targets */
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
  return grid([["target", "aim", "min / median / max", "", "by processor time"], ...rows]);
}
