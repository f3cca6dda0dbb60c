// Writes the pages of docs/ for the console, whose users may have no internet access: the content
// as a tree, the table of contents and the search index.
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { marked } from "marked";
import { createConverter, isElement, plain } from "./docs-nodes.mjs";

/** Every page by task. The build fails if a page is missing. */
const contents = [
  ["Start", ["concepts", "dashboard", "python", "programs", "agents", "questions", "client"]],
  ["Connect", ["pico", "files", "doors", "guarantees", "errors"]],
  [
    "Run",
    [
      "configuration",
      "deploy",
      "operation",
      "conversations",
      "security",
      "asvs",
      "scaling",
      "performance",
      "api",
    ],
  ],
  ["Build", ["embedding", "plugins", "write-a-channel", "architecture"]],
];
/** One sentence about each task. */
const purposes = {
  Start: "Learn the terms, use the dashboard, and write the program that answers.",
  Connect: "Reach the application from devices, scripts and other products.",
  Run: "Configure, deploy, secure and watch a service.",
  Build: "Put Doorward into a Node program, or add plugins and channels.",
};

/** Text of a section in the search index, and of a row of its tables; the rest is cut. */
const limits = { text: 700, row: 70 };

/** The headings of the second level, for "On this page". */
const headingsOf = (nodes) =>
  nodes
    .filter((node) => isElement(node, "h2"))
    .map(([, { id }, ...content]) => ({ id, text: plain(content) }));

/** One entry for each section: page, id of its heading, heading, text. */
function sectionsOf(name, title, nodes) {
  const sections = [{ id: "", heading: title, text: "", rows: "" }];
  for (const node of nodes) {
    const isHeading = ["h2", "h3", "h4"].some((tag) => isElement(node, tag));
    if (isHeading) {
      const [, { id }, ...content] = node;
      sections.push({ id, heading: plain(content), text: "", rows: "" });
    } else {
      sections.at(-1).text += ` ${textOf(node)}`;
      sections.at(-1).rows += ` ${rowsOf(node).join(" ")}`;
    }
  }
  return sections.map(({ id, heading, text, rows }) => {
    const whole = `${joined(text).slice(0, limits.text)} ${joined(rows)}`;
    return [name, id, heading, whole.trim()];
  });
}

const joined = (text) => text.replace(/\s+/g, " ").trim();

/** The text of a block without its tables, with spaces between items. */
function textOf(node) {
  if (typeof node === "string") return node;
  const [tag, , ...children] = node;
  if (tag === "header" || tag === "table") return "";
  const text = children.map(textOf).join("");
  return tag === "p" || tag === "li" || tag === "pre" ? `${text} ` : text;
}

/** The beginning of each row of the tables of a block, which names its subject. */
function rowsOf(node) {
  if (typeof node === "string") return [];
  const [tag, , ...children] = node;
  if (tag === "thead") return [];
  if (tag !== "tr") return children.flatMap(rowsOf);
  const cells = children.map(([, , ...content]) => plain(content));
  return [joined(cells.join(" ")).slice(0, limits.row)];
}

/** Writes `<page>.json` for each page and the list of all, `contents.json` and `search.json`. */
export async function writeDocs(root, folder) {
  const read = (...names) => readFile(path.join(root, ...names), "utf8");
  const write = (name, value) =>
    writeFile(path.join(folder, `${name}.json`), JSON.stringify(value));
  const files = (await readdir(path.join(root, "docs"))).filter((name) => name.endsWith(".md"));
  const pages = new Map(
    await Promise.all(files.map(async (file) => [file.slice(0, -3), await read("docs", file)])),
  );
  const titles = new Map([...pages].map(([name, markdown]) => [name, /^# (.*)/.exec(markdown)[1]]));
  const convert = createConverter(titles);
  const order = contents.flatMap(([, names]) => names);
  const unlisted = [...pages.keys()].filter((name) => !order.includes(name));
  if (unlisted.length > 0) throw new Error(`docs: not in the contents: ${unlisted.join(", ")}`);
  const link = (name) => (name === undefined ? undefined : { id: name, title: titles.get(name) });
  await mkdir(folder, { recursive: true });
  const search = [];
  for (const [at, name] of order.entries()) {
    const nodes = convert(marked.lexer(pages.get(name)));
    search.push(...sectionsOf(name, titles.get(name), nodes));
    await write(name, {
      title: titles.get(name),
      headings: headingsOf(nodes),
      previous: link(order[at - 1]),
      next: link(order[at + 1]),
      nodes,
    });
  }
  const index = [
    ["div", { class: "doc-cards" }, ...contents.map((task) => cardNode(task, titles))],
  ];
  await write("index", {
    title: "Documentation",
    headings: [],
    next: link(order[0]),
    nodes: index,
  });
  await write(
    "contents",
    contents.map(([name, names]) => ({ name, pages: names.map(link) })),
  );
  await write("search", search);
  return true;
}

/** A card of the list of all pages: a task, its purpose and its pages. */
function cardNode([task, names], titles) {
  const id = task.toLowerCase();
  return [
    "section",
    { class: "card doc-card", "aria-labelledby": id },
    ["h2", { id }, task],
    ["p", 0, purposes[task]],
    ["ul", 0, ...names.map((name) => ["li", 0, ["a", { href: `docs:${name}` }, titles.get(name)]])],
  ];
}
