// Horizontal bars: one group per record, one bar per server.
import { drawing, round, shownIn, text, width } from "./svg.mjs";

const nameWidth = 134;
const figureWidth = 62;
const rowHeight = 20;
const headHeight = 26;

/** @param {number} value */
const short = (value) => Math.round(value).toLocaleString("en");

/** @param {string} title @param {readonly import("./svg.mjs").Labelled[]} records */
export function drawBars(title, records) {
  /** @type {string[]} */
  const parts = [];
  /** @type {string[]} */
  const sentences = [];
  let y = 0;
  for (const record of records) {
    const servers = shownIn(record);
    const most = Math.max(...servers.map(({ values }) => values["rate"] ?? 0));
    parts.push(text(0, y + 16, `${title}, ${record.label}`, "title"));
    y += headHeight;
    for (const { name, colour, values } of servers) {
      const rate = values["rate"] ?? 0;
      const length = round(((width - nameWidth - figureWidth) * rate) / most);
      parts.push(
        text(nameWidth - 8, y + 13, name, "end"),
        `<rect x="${nameWidth}" y="${y + 3}" width="${length}" height="13" rx="2" class="bar c${colour}"/>`,
        text(nameWidth + length + 6, y + 13, short(rate)),
      );
      sentences.push(`${name}, ${record.label}: ${short(rate)}.`);
      y += rowHeight;
    }
    y += 8;
  }
  return drawing(title, sentences.join(" "), y, parts);
}
