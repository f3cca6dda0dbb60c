// Builds the files of the console: scripts, styles and fonts.
import { existsSync } from "node:fs";
import { copyFile, mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import subsetFont from "subset-font";

const require = createRequire(import.meta.url);

/** Latin with Western and Central European letters, and the signs that the pages use. */
const textCharacters = charactersOf(
  [0x20, 0x7e],
  [0xa0, 0x17f],
  [0x2010, 0x2027],
  [0x202f, 0x203a],
  [0x20ac, 0x20ac],
  [0x2122, 0x2122],
  [0x2190, 0x2193],
  [0x21e7, 0x21e7],
  [0x2212, 0x2212],
  [0x2318, 0x2318],
);
const codeCharacters = charactersOf([0x20, 0x7e], [0xa0, 0xff], [0x2013, 0x2026], [0x2190, 0x2193]);

/** Fonts: the source, the characters, and the range of weights that stays variable. */
const fonts = [
  {
    name: "inter.woff2",
    from: "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2",
    text: textCharacters,
    weight: { min: 400, max: 700, default: 400 },
  },
  {
    name: "jetbrains-mono.woff2",
    from: "@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2",
    text: codeCharacters,
    weight: 420,
    // The style sheets turn ligatures off, so their glyphs are left out.
    noLayoutClosure: true,
  },
];

/** Packages whose files are copied, not bundled: one file of each. */
export const fileSources = [...fonts.map(({ from }) => from), "lucide-static/package.json"].map(
  (name) => `node_modules/${name}`,
);

function charactersOf(...ranges) {
  return ranges
    .flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, at) => from + at))
    .map((code) => String.fromCodePoint(code))
    .join("");
}

/** The logo, its images for installed pages, and their worker, whose script is not bundled. */
const copiedFiles = [
  "icon.svg",
  ...["icon-192", "icon-512", "icon-maskable-512", "apple-touch-icon"].map(
    (name) => `icons/${name}.png`,
  ),
  "worker/sw.js",
];

/** Writes the subset fonts, the logo and the worker to `target`. */
export async function writeConsoleFiles(root, target) {
  await mkdir(target, { recursive: true });
  await Promise.all([
    ...fonts.map(async ({ name, from, text, weight, noLayoutClosure = false }) => {
      const font = await readFile(require.resolve(from));
      const variationAxes = { wght: weight };
      const options = { targetFormat: "woff2", variationAxes, noLayoutClosure };
      await writeFile(path.join(target, name), await subsetFont(font, text, options));
    }),
    ...copiedFiles.map((file) =>
      copyFile(
        path.join(root, "plugins", "dashboard", "pages", file),
        path.join(target, path.basename(file)),
      ),
    ),
  ]);
  return true;
}

/**
 * Finds the entry modules and style sheets of the pages in the folder `pages`.
 *
 * @returns Entry points of the bundlers: scripts as name -> file, styles as objects of both.
 */
export async function consoleEntries(root) {
  const pages = path.join("plugins", "dashboard", "pages");
  const folders = (await readdir(path.join(root, pages), { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const scripts = folders
    .map((name) => [name, path.join(pages, name, "entry.tsx")])
    .filter(([, file]) => existsSync(path.join(root, file)));
  const styles = await Promise.all(
    folders.map(async (folder) =>
      (await readdir(path.join(root, pages, folder)))
        .filter((name) => name.endsWith(".css"))
        .map((name) => ({
          in: path.join(pages, folder, name),
          out: name.slice(0, -".css".length),
        })),
    ),
  );
  return { scripts: Object.fromEntries(scripts), styles: styles.flat() };
}

/** @returns A function that finds a script and all that it needs. `next`: the direct ones. */
function reachOf(scripts, next) {
  const byName = new Map(scripts.map((script) => [script.fileName, script]));
  const reach = (name, found = new Set()) => {
    if (found.has(name)) return found;
    found.add(name);
    for (const file of next(byName.get(name))) reach(file, found);
    return found;
  };
  return reach;
}

const importsOf = ({ imports }) => imports;

/** The part that a page loads in its first drawing. */
const firstParts = { chat: "open-thread" };

/**
 * Writes which scripts the first drawing of each page needs. Documents name them, so that the
 * browser asks for all of them in parallel.
 *
 * @param scripts - Result of the bundler.
 */
export async function writePreloads(scripts, target) {
  const reach = reachOf(scripts, importsOf);
  const lists = scripts
    .filter(({ isEntry }) => isEntry)
    .map(({ name, fileName }) => {
      const found = reach(fileName);
      const part = scripts.find((script) => script.name === firstParts[name]);
      if (part) reach(part.fileName, found);
      return [name, [...found].filter((file) => file !== fileName)];
    });
  await writeFile(path.join(target, "preloads.json"), JSON.stringify(Object.fromEntries(lists)));
}

const gzipSize = (content) => gzipSync(content, { level: 9 }).length;

/**
 * Bytes that a page loads before it reacts, with gzip. Pages need about 20 to 31 kB of scripts and
 * 13 kB of styles: the budget finds a library that a page loads by mistake, not a feature.
 */
const budgets = { script: 48_000, style: 20_000 };
const sharedStyles = ["tokens.css", "base.css", "frame.css"];

/**
 * Compares the bundled pages with their budgets. Parts that load later do not count.
 *
 * @param scripts - Result of the bundler.
 * @returns False if a page is too large. The messages go to the terminal.
 */
export async function checkBudgets(scripts, target) {
  const atOnce = reachOf(scripts, importsOf);
  const sizeOf = async (names) => {
    const files = await Promise.all([...names].map((name) => readFile(path.join(target, name))));
    return files.reduce((sum, file) => sum + gzipSize(file), 0);
  };
  const problems = await Promise.all(
    scripts
      .filter(({ isEntry }) => isEntry)
      .map(async ({ fileName: script }) => {
        const style = script.replace(/\.js$/, ".css");
        const own = existsSync(path.join(target, style)) ? [style] : [];
        const sizes = {
          script: await sizeOf(atOnce(script)),
          style: await sizeOf([...sharedStyles, ...own]),
        };
        return Object.keys(budgets)
          .filter((kind) => sizes[kind] > budgets[kind])
          .map((kind) => `${script}: ${kind} ${sizes[kind]} bytes, at most ${budgets[kind]}`);
      }),
  );
  return report(problems.flat());
}

function report(problems) {
  for (const problem of problems) console.error(`budget exceeded: ${problem}`);
  return problems.length === 0;
}

/** Bytes of a first visit to sign-in or setup, with gzip. The font is compressed already. */
const doorwayBudgets = { html: 2_000, css: 6_000, js: 2_000, total: 40_000 };

/**
 * Renders sign-in and setup with everything they can show, and compares them and the files that
 * they load with their budgets.
 *
 * @param target - Folder of the built files. The bundled renderer is in `../pages`.
 * @returns False if a page is too large. The messages go to the terminal.
 */
export async function checkDoorwayBudgets(target) {
  const renderer = pathToFileURL(path.join(target, "..", "pages", "render.js"));
  const { renderDoorway } = await import(renderer.href);
  const site = { base: "", assets: "/assets/0123456789ab/console", theme: "light" };
  const ways = ["env", "file", "console", "log", "command", "tray"];
  const error = { code: "rate_limited", retryAfterSeconds: 60 };
  const host = "door.example";
  const problems = ["sign-in", "setup"].map(async (page) => {
    const data = { ways, error, hasCookie: true };
    const html = renderDoorway(page, { ...site, title: page, host }, data);
    const sizes = { html: gzipSize(html), css: 0, js: 0, woff2: 0 };
    for (const [, name, kind] of html.matchAll(/console\/([\w-]+\.(css|js|woff2))"/g)) {
      const file = await readFile(path.join(target, name));
      sizes[kind] += kind === "woff2" ? file.length : gzipSize(file);
    }
    sizes.total = Object.values(sizes).reduce((sum, size) => sum + size, 0);
    return Object.entries(doorwayBudgets)
      .filter(([kind, limit]) => sizes[kind] > limit)
      .map(([kind, limit]) => `${page}: ${kind} ${sizes[kind]} bytes, at most ${limit}`);
  });
  return report((await Promise.all(problems)).flat());
}

/**
 * Checks that no page loads the script of another page, which would draw that page over it.
 *
 * @param scripts - Result of the bundler.
 */
export function checkPages(scripts) {
  const reach = reachOf(scripts, ({ imports, dynamicImports }) => [...imports, ...dynamicImports]);
  const pages = scripts.filter(({ isEntry }) => isEntry).map(({ fileName }) => fileName);
  const wrong = pages.filter((page) =>
    [...reach(page)].some((name) => name !== page && pages.includes(name)),
  );
  for (const page of wrong) console.error(`${page} loads the script of another page`);
  return wrong.length === 0;
}
