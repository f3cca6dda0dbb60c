/**
 * Loads the built browser files and serves them under an address that depends on their content.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { extname } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

interface Asset {
  /** Value for `Content-Type`. */
  readonly type: string;
  readonly body: Buffer;
  /** Compresses the body, once. Absent if its format is compressed. */
  gzipped?(): Promise<Buffer>;
}

export interface Assets {
  /** `/assets/<hash of all contents>`. Any changed file changes it, so responses never expire. */
  readonly prefix: string;
  /**
   * @param path - The part after the prefix, for example `console/base.css`.
   * @returns The file, or undefined if it did not exist at start.
   */
  get(path: string): Asset | undefined;
  /** Name of a page -> names of the scripts that its first drawing needs, besides its own. */
  readonly preloads: Readonly<Record<string, readonly string[]>>;
}

const contentTypes: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".png": "image/png",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

const compress = promisify(gzip);

function toAsset(type: string, body: Buffer): Asset {
  if (/^(font|image\/png)/.test(type)) return { type, body };
  let compressed: Promise<Buffer> | undefined;
  return { type, body, gzipped: () => (compressed ??= compress(body, { level: 9 })) };
}

/** @param header - `Accept-Encoding` (RFC 9110, section 12.5.3). */
export const acceptsGzip = (header = ""): boolean =>
  /(?:^|[\s,])gzip(?=\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,))))/i.test(header);

/**
 * Reads the built browser files into memory.
 *
 * @throws ENOENT if they have not been built.
 */
export function loadAssets(): Assets {
  const files = new Map<string, Asset>();
  const hash = createHash("sha256");
  const folder = distFolder("console");
  for (const name of readdirSync(folder).sort()) {
    const type = contentTypes[extname(name)];
    if (type === undefined) continue;
    const body = readFileSync(new URL(name, folder));
    hash.update(`${name}\0${body.length}\0`).update(body);
    files.set(`console/${name}`, toAsset(type, body));
  }
  const preloads = readFileSync(new URL("preloads.json", folder), "utf8");
  return {
    prefix: `/assets/${hash.digest("hex").slice(0, 12)}`,
    get: (path) => files.get(path),
    preloads: JSON.parse(preloads) as Assets["preloads"],
  };
}

/**
 * Finds a folder in `dist` of the package: this module runs from there, from a bundle or from
 * source.
 */
export function distFolder(name: "console" | "docs"): URL {
  const manifest = createRequire(import.meta.url).resolve("doorward/package.json");
  return new URL(`dist/plugins/dashboard/${name}/`, pathToFileURL(manifest));
}
