// Writes the pages of docs/ as HTML for the dashboard, whose users may have no internet access.
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { Marked } from "marked";

const escaped = (text) =>
  text.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign]);
const plain = (html) => html.replace(/<[^>]*>|&(?:lt|gt|amp|quot|#39);/g, "");
/** Creates the id of a heading in the way code hosts do, so that links work in both places. */
const slug = (html) =>
  plain(html)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-");

/** @param titles - The first heading of each page by name. */
const rendererOf = (titles) => ({
  heading({ tokens, depth }) {
    const text = this.parser.parseInline(tokens);
    return depth === 1 ? "" : `<h${depth} id="${slug(text)}">${text}</h${depth}>\n`;
  },
  // The dashboard replaces `docs:` by its address.
  link({ href, tokens }) {
    const text = this.parser.parseInline(tokens);
    const [, page, place = ""] = /^([a-z-]+)\.md(#.*)?$/.exec(href) ?? [];
    const name = text === `${page}.md` ? titles.get(page) : text;
    if (titles.has(page)) return `<a href="docs:${page}${place}">${name}</a>`;
    if (href.startsWith("#")) return `<a href="${href}">${text}</a>`;
    if (href.startsWith("https://")) return `<a href="${href}" rel="noreferrer">${text}</a>`;
    return text; // A file of the repository.
  },
  table({ header, rows }) {
    const row = (cells) => `<tr>\n${cells.map((cell) => this.tablecell(cell)).join("")}</tr>\n`;
    const titles = row(header).replaceAll("<th></th>", "<td></td>");
    const table = `<table><thead>${titles}</thead><tbody>${rows.map(row).join("")}</tbody></table>`;
    return `<div class="sheet" tabindex="0">${table}</div>\n`;
  },
  code: ({ text }) => `<pre tabindex="0"><code>${escaped(text)}</code></pre>\n`,
  image: () => "",
  html({ text }) {
    if (/^\s*<(?:!--|picture>)/.test(text)) return ""; // Names of examples and images.
    if (/^<(?:a id="[\w-]+"|\/a)>$/.test(text)) return text;
    throw new Error(`docs: "${text.slice(0, 60)}" isn't Markdown; write it between backquotes`);
  },
});

/**
 * Renders the pages of `docs/`, and the list of pages in `README.md`, to HTML files in `folder`.
 */
export async function writeDocs(root, folder) {
  const read = (...names) => readFile(path.join(root, ...names), "utf8");
  const files = (await readdir(path.join(root, "docs"))).filter((name) => name.endsWith(".md"));
  const pages = new Map(
    await Promise.all(files.map(async (file) => [file.slice(0, -3), await read("docs", file)])),
  );
  const titles = new Map([...pages].map(([name, markdown]) => [name, /^# (.*)/.exec(markdown)[1]]));
  pages.set("index", indexOf(await read("README.md")));
  const marked = new Marked({ renderer: rendererOf(titles) });
  await mkdir(folder, { recursive: true });
  await Promise.all(
    [...pages].map(([name, markdown]) => {
      const title = titles.get(name) ?? "Documentation";
      return writeFile(
        path.join(folder, `${name}.html`),
        `<!-- ${title} -->\n${String(marked.parse(markdown))}`,
      );
    }),
  );
  return true;
}

/** The headings and pages of the README's documentation section, without links to other files. */
function indexOf(readme) {
  const [, list = ""] = /\n## Documentation\n([^]*?)\n## /.exec(readme) ?? [];
  const blocks = list.split(/\n(?=- )|\n{2,}/).map((block) => block.trim());
  return blocks
    .filter((block) => /^(- \[docs\/[a-z-]+\.md\]|\*\*[^*]+\*\*$)/.test(block))
    .map((block) => block.replaceAll("docs/", "").replace(/^(\*\*.*)/, "\n$1\n"))
    .join("\n");
}
