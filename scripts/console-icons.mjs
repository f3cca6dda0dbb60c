// Takes the shapes of the icons of the console from the package lucide-static. To add an icon, add
// its name with an empty list to the file, then run `node scripts/console-icons.mjs && npx oxfmt`.
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const file = path.join(root, "plugins", "dashboard", "pages", "parts", "icons.json");

/** @returns Name -> shapes of the package, in this order. A shape is [element, attributes]. */
export async function shapesOf(names) {
  const folder = path.dirname(createRequire(import.meta.url).resolve("lucide-static/package.json"));
  const entries = names.map(async (name) => {
    const svg = await readFile(path.join(folder, "icons", `${name}.svg`), "utf8");
    return [name, [...svg.matchAll(/^ {2}<(\w+)(.*?)\/>/gm)].map(([, ...shape]) => toShape(shape))];
  });
  return Object.fromEntries(await Promise.all(entries));
}

const toShape = ([element, text]) => [
  element,
  Object.fromEntries([...text.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, ...pair]) => pair)),
];

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const names = Object.keys(JSON.parse(await readFile(file, "utf8")));
  await writeFile(file, JSON.stringify(await shapesOf(names)));
}
