import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";

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

const types: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Reads the built browser files into memory. Throws when they have not been built. */
export function loadAssets(): Assets {
  const files = new Map<string, Asset>();
  const hash = createHash("sha256");
  const folder = builtFolder();
  for (const name of readdirSync(folder).sort()) {
    const type = types[extname(name)];
    if (type === undefined) continue;
    const body = readFileSync(new URL(name, folder));
    hash.update(`${name}\0${body.length}\0`).update(body);
    files.set(`dashboard/${name}`, { type, body });
  }
  return { prefix: `/assets/${hash.digest("hex").slice(0, 12)}`, get: (path) => files.get(path) };
}

/** Beside this module once it is built; run from its source, in the `dist` of the project. */
function builtFolder(): URL {
  const fromSource = import.meta.url.endsWith(".ts");
  return new URL(fromSource ? "../../dist/plugins/dashboard/browser/" : "./browser/", import.meta.url);
}
