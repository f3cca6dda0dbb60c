// Size, colours for light and dark pages, and text of all charts.

/** Units of the drawing. Text of 12 units is readable on a phone, whose page is as wide. */
export const width = 360;

/**
 * @typedef {import("../report.mjs").Record & { label: string }} Labelled
 * @typedef {{ id: string, name: string }} Shown
 */
/** The servers that are shown, in this order. @type {readonly Shown[]} */
const servers = [
  { id: "doorward", name: "Doorward" },
  { id: "doorward, extension", name: "Doorward, extension" },
  { id: "ws", name: "ws" },
  { id: "socket.io", name: "Socket.IO" },
  { id: "gorilla", name: "gorilla (Go)" },
  { id: "bun", name: "Bun" },
];

/** Returns the known servers of a record, and their numbers for colours.
 * @param {Labelled} record */
export const shownIn = ({ rows }) =>
  servers.flatMap((server, colour) => {
    const row = rows.find(({ server: id }) => id === server.id);
    return row ? [{ ...server, colour, values: row.values }] : [];
  });

/** One colour per server, with enough contrast to the background. */
const light = ["#0b5fff", "#7a3ff2", "#5f6b7a", "#b42318", "#00796b", "#9a6700"];
const dark = ["#7aa7ff", "#c4a3ff", "#a9b4c2", "#ff9a8f", "#5ed3c0", "#e3b341"];

/** @param {readonly string[]} colours @param {string} text @param {string} line */
const rules = (colours, text, line) =>
  [
    `text{fill:${text}}.grid{stroke:${line}}`,
    ...colours.map((colour, at) => `.c${at}{fill:${colour};stroke:${colour}}`),
  ].join("");

const style = [
  "text{font:12px system-ui,sans-serif;stroke:none}.end{text-anchor:end}.mid{text-anchor:middle}",
  ".title{font-weight:600}.grid{stroke-width:1}.bar{stroke:none}.line{fill:none;stroke-width:2}",
  rules(light, "#1f2328", "#d0d7de"),
  `@media(prefers-color-scheme:dark){${rules(dark, "#e6edf3", "#3d444d")}}`,
].join("");

/** @param {string} title @param {string} description @param {number} height
 * @param {readonly string[]} parts */
export const drawing = (title, description, height, parts) =>
  [
    `<svg xmlns="http://www.w3.org/2000/svg" width="540" height="${height * 1.5}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escape(title)}</title>`,
    `<desc>${escape(description)}</desc>`,
    `<style>${style}</style>`,
    ...parts,
    "</svg>",
    "",
  ].join("\n");

/** @param {number} x @param {number} y @param {string} content @param {string} [kind] */
export const text = (x, y, content, kind = "") =>
  `<text x="${round(x)}" y="${round(y)}"${kind && ` class="${kind}"`}>${escape(content)}</text>`;

/** @param {number} value */
export const round = (value) => Math.round(value * 10) / 10;

/** @param {string} content */
const escape = (content) =>
  content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
