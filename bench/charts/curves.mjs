// Latencies over the share of the maximum rate: one panel per percentile, one line per server.
import { drawing, round, shownIn, text, width } from "./svg.mjs";

/** @typedef {import("./svg.mjs").Labelled} Labelled */

const percentiles = /** @type {const} */ ([
  ["p50", "Median"],
  ["p99", "99 %"],
  ["p999", "99.9 %"],
]);
const [left, right] = [44, 16];
const panelHeight = 116;
const headHeight = 24;
const legendRow = 20;
/** Dashes distinguish lines that overlap. */
const dashes = ["", "6 3", "2 2", "8 2 2 2", "10 4", "1 3"];

/** @param {string} title @param {readonly Labelled[]} records By rising rate */
export function drawCurves(title, records) {
  const servers = records[0] ? shownIn(records[0]) : [];
  const all = records.flatMap((record) =>
    shownIn(record).flatMap(({ values }) => percentiles.map(([key]) => values[key] ?? 0)),
  );
  const scale = createScale(all.filter((value) => value > 0));
  const legendHeight = Math.ceil(servers.length / 2) * legendRow + 6;
  const panels = percentiles.flatMap(([key, name], at) =>
    panel(records, key, `${name}, ms`, legendHeight + at * (panelHeight + headHeight + 26), scale),
  );
  const legend = servers.flatMap(({ name, colour }, at) => {
    const [x, y] = [(at % 2) * (width / 2), Math.floor(at / 2) * legendRow + 10];
    return [line([x, x + 26], [y, y], colour), text(x + 32, y + 4, name)];
  });
  const height = legendHeight + percentiles.length * (panelHeight + headHeight + 26);
  return drawing(title, describe(records), height, [...legend, ...panels]);
}

/** A logarithmic scale over whole decades. @param {readonly number[]} values */
function createScale(values) {
  const first = Math.floor(Math.log10(Math.min(...values)));
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(...values))));
  const decades = Array.from({ length: last - first + 1 }, (_, at) => 10 ** (first + at));
  return {
    decades,
    y: (/** @type {number} */ value) =>
      panelHeight * (1 - (Math.log10(Math.max(value, 10 ** first)) - first) / (last - first)),
  };
}

/** @param {readonly Labelled[]} records @param {"p50" | "p99" | "p999"} key @param {string} name
 * @param {number} top @param {ReturnType<typeof createScale>} scale */
function panel(records, key, name, top, { decades, y }) {
  const base = top + headHeight;
  const xs = records.map(
    (_, at) => left + 12 + (at * (width - left - right - 24)) / Math.max(1, records.length - 1),
  );
  const grid = decades.flatMap((value) => {
    const at = round(base + y(value));
    return [
      `<path class="grid" d="M${left} ${at}H${width - right}"/>`,
      text(left - 6, at + 4, String(Number(value.toPrecision(1))), "end"),
    ];
  });
  const marks = records.map(({ label }, at) =>
    text(xs[at] ?? 0, base + panelHeight + 16, label, "mid"),
  );
  const lines = (records[0] ? shownIn(records[0]) : []).flatMap(({ id, colour }) => {
    const values = records.map((record) => shownIn(record).find((each) => each.id === id)?.values);
    const ys = values.map((each) => base + y(each?.[key] ?? 0));
    const dots = xs.map(
      (x, at) => `<circle cx="${round(x)}" cy="${round(ys[at] ?? 0)}" r="3" class="c${colour}"/>`,
    );
    return [line(xs, ys, colour), ...dots];
  });
  return [
    text(0, top + 14, `${name}, by share of the maximum rate`, "title"),
    ...grid,
    ...marks,
    ...lines,
  ];
}

/** @param {readonly number[]} xs @param {readonly number[]} ys @param {number} colour */
function line(xs, ys, colour) {
  const points = xs.map((x, at) => `${round(x)} ${round(ys[at] ?? 0)}`);
  const dash = dashes[colour] && ` stroke-dasharray="${dashes[colour]}"`;
  return `<path class="line c${colour}" style="fill:none" d="M${points.join("L")}"${dash}/>`;
}

/** @param {readonly Labelled[]} records */
const describe = (records) =>
  records
    .flatMap((record) =>
      shownIn(record).map(({ name, values }) => {
        const figures = percentiles.map(([key]) => round(values[key] ?? 0)).join(", ");
        return `${name} at ${record.label}: ${figures} ms.`;
      }),
    )
    .join(" ");
