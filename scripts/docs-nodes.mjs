// Converts Markdown tokens to the nodes that documentation pages consist of: a text, or
// `[tag, attributes, ...children]`.
import bash from "highlight.js/lib/languages/bash";
import ini from "highlight.js/lib/languages/ini";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";

const lowlight = createLowlight({ bash, ini, javascript, json, python, typescript, xml, yaml });

/** Highlights code while it is built, with the classes of the console. */
function highlight(language, text) {
  if (!lowlight.registered(language)) return [text];
  return lowlight.highlight(language, text).children.map(toNode);
}

function toNode({ type, value, properties, children }) {
  if (type === "text") return value;
  return ["span", { class: properties.className.join(" ") }, ...children.map(toNode)];
}

/** Ids of the document around the content. */
const frameIds = new Set(["rail", "top", "main", "bottom", "layers", "data", "end", "content"]);

/** Creates the id of a heading in the way code hosts do, so that links work in both places. */
const slug = (text) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-");

const entities = { "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&#39;": "'" };
const decoded = (text) => text.replace(/&(?:lt|gt|amp|quot|#39);/g, (entity) => entities[entity]);

/**
 * Creates the function that converts tokens to nodes.
 *
 * @param titles - The first heading of each page by name.
 */
export function createConverter(titles) {
  const many = (tokens = []) => tokens.flatMap(one);
  const element =
    (tag) =>
    ({ tokens }) => [[tag, 0, ...many(tokens)]];
  const kinds = {
    space: () => [],
    def: () => [],
    hr: () => [["hr", 0]],
    br: () => [["br", 0]],
    strong: element("strong"),
    em: element("em"),
    del: element("del"),
    paragraph: ({ tokens }) => {
      const content = many(tokens);
      return content.length === 0 ? [] : [["p", 0, ...content]];
    },
    blockquote: element("blockquote"),
    codespan: ({ text }) => [["code", 0, text]],
    escape: ({ text }) => [text],
    text: ({ text, tokens }) => (tokens ? many(tokens) : [decoded(text)]),
    image: () => [],
    heading: ({ depth, tokens }) => (depth === 1 ? [] : [headingNode(depth, many(tokens))]),
    code: ({ lang, text }) => [codeNode(lang ?? "", text)],
    list: ({ ordered, start, items }) => [
      [ordered ? "ol" : "ul", ordered && start !== 1 ? { start } : 0, ...items.map(item)],
    ],
    table: ({ header, rows }) => [tableNode(header, rows, many)],
    link: ({ href, tokens }) => linkNodes(href, many(tokens), titles),
    html: ({ text }) => htmlNodes(text),
  };
  const item = ({ tokens, loose }) => {
    const content = many(tokens);
    return ["li", 0, ...(loose ? content : content.flatMap(unwrapped))];
  };
  const unwrapped = (node) => (isElement(node, "p") ? node.slice(2) : [node]);
  const one = (token) => {
    const convert = kinds[token.type];
    if (!convert) throw new Error(`docs: no rule for Markdown of the type ${token.type}`);
    return convert(token);
  };
  return many;
}

/** True for an element with this tag, false for text. */
export const isElement = (node, tag) => Array.isArray(node) && node[0] === tag;

/** A heading with a link to itself. */
function headingNode(depth, content) {
  const text = plain(content);
  const id = slug(text);
  if (frameIds.has(id)) throw new Error(`docs: a page cannot have the heading "${text}"`);
  const link = { class: "anchor", href: `#${id}`, "aria-label": `Link to ${text}` };
  return [`h${depth}`, { id }, ...content, ["a", link, "#"]];
}

function tableNode(header, rows, many) {
  const row = (tag) => (cells) => [
    "tr",
    0,
    ...cells.map(({ tokens }) => {
      const content = many(tokens);
      return tag === "th" && content.length === 0 ? ["td", 0] : [tag, 0, ...content];
    }),
  ];
  const table = ["table", 0, ["thead", 0, row("th")(header)], ["tbody", 0, ...rows.map(row("td"))]];
  return ["div", { class: "scroll-x", tabIndex: 0, role: "group", "aria-label": "Table" }, table];
}

/** A link. Only the text of links to files of the repository remains. */
function linkNodes(href, content, titles) {
  const [, page, place = ""] = /^([a-z-]+)\.md(#.*)?$/.exec(href) ?? [];
  if (titles.has(page)) {
    const isFileName = plain(content) === `${page}.md`;
    // The page adds its base path to `docs:`.
    const target = { href: `docs:${page}${place}` };
    return [["a", target, ...(isFileName ? [titles.get(page)] : content)]];
  }
  if (href.startsWith("#")) return [["a", { href }, ...content]];
  if (href.startsWith("https://")) return [["a", { href, rel: "noreferrer" }, ...content]];
  return content;
}

/** Allows the names of examples, images (both left out) and places. */
function htmlNodes(text) {
  if (/^\s*<(?:!--|picture>)/.test(text)) return [];
  const [, id] = /^<a id="([\w-]+)">$/.exec(text) ?? [];
  if (id !== undefined) return [["a", { id }]];
  if (text === "</a>") return [];
  throw new Error(`docs: "${text.slice(0, 60)}" isn't Markdown; write it between backquotes`);
}

const copyButton = (label, copies) => [
  "button",
  { type: "button", class: "button ghost compact scripted", "data-copy": copies },
  label,
];

/** The address in all examples. `ui/docs/address.ts` replaces it. */
const exampleAddress = "://127.0.0.1:18800";

/** Code with its language and buttons that copy it. */
function codeNode(language, text) {
  const name = language === "" ? "text" : language;
  const hasAddress = text.includes(exampleAddress);
  return [
    "div",
    { class: "code" },
    [
      "header",
      0,
      ["span", 0, name],
      copyButton("Copy", ""),
      ...(hasAddress ? [copyButton("Copy with your address", "address")] : []),
    ],
    [
      "pre",
      { dir: "ltr", tabIndex: 0, role: "group", "aria-label": `Code, ${name}` },
      ["code", 0, ...highlight(language, text)],
    ],
  ];
}

/** The text of nodes, without anchors and buttons. */
export function plain(nodes) {
  return nodes
    .map((node) => {
      if (typeof node === "string") return node;
      const [tag, attributes, ...children] = node;
      if (attributes !== 0 && attributes.class === "anchor") return "";
      return tag === "button" || tag === "header" ? "" : plain(children);
    })
    .join("");
}
