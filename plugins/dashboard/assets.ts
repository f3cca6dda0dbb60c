import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { extname } from "node:path";
import { pathToFileURL } from "node:url";

export interface Asset {
  /** Value for `Content-Type`. */
  readonly type: string;
  readonly body: Buffer;
}

export interface Assets {
  /** `/assets/<hash of all contents>`: a changed file changes every address, so answers may be cached for ever. */
  readonly prefix: string;
  /** `path` follows the prefix, for example `dashboard/base.css`. Only files that were there at start are known. */
  get(path: string): Asset | undefined;
}

const contentTypes: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Reads the built browser files into memory. Throws when they have not been built. */
export function loadAssets(): Assets {
  const files = new Map<string, Asset>();
  const hash = createHash("sha256");
  const folder = distFolder("browser");
  for (const name of readdirSync(folder).sort()) {
    const type = contentTypes[extname(name)];
    if (type === undefined) continue;
    const body = readFileSync(new URL(name, folder));
    hash.update(`${name}\0${body.length}\0`).update(body);
    files.set(`dashboard/${name}`, { type, body });
  }
  return { prefix: `/assets/${hash.digest("hex").slice(0, 12)}`, get: (path) => files.get(path) };
}

/** In `dist` of the package, wherever this module stands: beside them, in the bundle of the program, in the sources. */
export function distFolder(name: "browser" | "docs"): URL {
  const manifest = createRequire(import.meta.url).resolve("doorward/package.json");
  return new URL(`dist/plugins/dashboard/${name}/`, pathToFileURL(manifest));
}
