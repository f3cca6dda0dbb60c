// Writes the package doorward-client: the compiled client with its declarations, without
// dependencies.
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";

const entries = ["lib/pico-link/client", "lib/pico-link/browser"];

/** Writes the package to `folder`. Its modules are those of `doorward/client` in `dist`. */
export async function writeClientPackage(root, dist, folder) {
  await rm(folder, { recursive: true, force: true });
  const files = new Set();
  for (const entry of entries)
    for (const end of [".js", ".d.ts"]) await addReachable(files, dist, `${entry}${end}`);
  await Promise.all(
    [...files].map(async (file) => {
      await mkdir(path.join(folder, path.dirname(file)), { recursive: true });
      await copyFile(path.join(dist, file), path.join(folder, file));
    }),
  );
  const manifest = manifestOf(JSON.parse(await readFile(path.join(root, "package.json"), "utf8")));
  await Promise.all([
    writeFile(path.join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`),
    copyFile(path.join(root, "LICENSE"), path.join(folder, "LICENSE")),
    copyFile(path.join(root, "lib", "pico-link", "README.md"), path.join(folder, "README.md")),
  ]);
}

/** Adds a file and the relative modules that it imports. Declarations import declarations. */
async function addReachable(files, dist, file) {
  if (files.has(file)) return;
  files.add(file);
  const text = await readFile(path.join(dist, file), "utf8");
  const end = file.endsWith(".d.ts") ? ".d.ts" : ".js";
  for (const [, specifier] of text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)) {
    const stem = path.posix.join(path.posix.dirname(file), specifier).replace(/\.[jt]s$/, "");
    await addReachable(files, dist, `${stem}${end}`);
  }
}

function manifestOf({ version, homepage, bugs, license, repository, engines, publishConfig }) {
  return {
    name: "doorward-client",
    version,
    description:
      "Client of a Doorward channel for browsers and Node: reconnects and loses no message.",
    keywords: ["doorward", "websocket", "client", "reconnect", "resume"],
    homepage,
    bugs,
    license,
    repository: { ...repository, directory: "lib/pico-link" },
    files: ["lib"],
    type: "module",
    sideEffects: false,
    exports: {
      ".": {
        types: "./lib/pico-link/client.d.ts",
        // Deno and Bun meet the condition "node" too, but have a WebSocket.
        deno: "./lib/pico-link/browser.js",
        bun: "./lib/pico-link/browser.js",
        node: "./lib/pico-link/client.js",
        default: "./lib/pico-link/browser.js",
      },
      "./package.json": "./package.json",
    },
    // Node 22 and browsers have a WebSocket.
    peerDependencies: { ws: "^8" },
    peerDependenciesMeta: { ws: { optional: true } },
    engines,
    publishConfig,
  };
}
