// Bundles the program into one file per part that is loaded separately, instead of about 240
// modules at each start. Also bundles the web framework, the worker of the SQLite store, and the
// scripts and styles of the pages.
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { build, transform } from "esbuild";
import { consoleEntries, fileSources } from "./console-assets.mjs";

/**
 * Fastify loads these if a route has a schema or a test injects a request, which Doorward never
 * does.
 */
const unused = [
  "@fastify/ajv-compiler",
  "@fastify/fast-json-stringify-compiler",
  "light-my-request",
];

/** The modules that pages load. Code that several of them share is written to separate files. */
const pages = ["ready", "setup", "sign-in"];

/**
 * Writes minified scripts and styles of the dashboard pages from `folder` of `root` to `target`.
 */
export async function bundlePages(root, folder, target) {
  const names = await readdir(path.join(root, folder));
  const styles = names.filter((name) => name.endsWith(".css"));
  return built({
    absWorkingDir: root,
    entryPoints: [...pages.map((name) => `${name}.ts`), ...styles].map((name) =>
      path.join(folder, name),
    ),
    outdir: target,
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2023",
    chunkNames: "[name]-[hash]",
    logLevel: "warning",
  });
}

/**
 * Writes minified scripts and styles of the console pages to `target`.
 *
 * @returns The outputs, or undefined if there were errors.
 */
export async function bundleConsole(root, target) {
  const result = await built({
    absWorkingDir: root,
    entryPoints: await consoleEntries(root),
    outdir: target,
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2023",
    external: ["*.woff2"],
    chunkNames: "[name]-[hash]",
    logLevel: "warning",
    metafile: true,
  });
  return result?.metafile.outputs;
}

const node = { platform: "node", target: "node20.19", logLevel: "warning" };

/**
 * Bundles `bin/` of `root` into `folder`, with the license notices of its packages. `doorward.js`
 * loads the other files through bin/compile-cache. Modules loaded with `createRequire` stay in
 * their packages. Messages go to the terminal.
 *
 * @returns False if there were errors.
 */
export async function bundleProgram(root, folder) {
  const shared = {
    ...node,
    absWorkingDir: root,
    outdir: folder,
    bundle: true,
    format: "esm",
    metafile: true,
  };
  const [entry, parts] = await Promise.all([
    built({ ...shared, entryPoints: ["bin/doorward.ts"] }),
    built({
      ...shared,
      entryPoints: ["bin/main.ts"],
      splitting: true,
      write: false,
      external: unused,
      legalComments: "none",
      outExtension: { ".js": ".cjs" },
      chunkNames: "[name]-[hash]",
    }),
  ]);
  if (!entry || !parts) return false;
  await mkdir(folder, { recursive: true });
  const { outputs } = parts.metafile;
  await Promise.all(
    parts.outputFiles.map(async ({ path: file, text }) => {
      const { imports } = outputs[path.relative(root, file).replaceAll("\\", "/")];
      await writeFile(
        file,
        await asFunction(
          text,
          imports.filter(({ external }) => !external),
        ),
      );
    }),
  );
  await writeNotices(root, folder, outputs);
  return true;
}

/**
 * Bundles the packages of the dashboard into `target`, with their license notices, so that they are
 * not dependencies of the package: the web framework, and the renderer of the pages.
 *
 * @param browser - Outputs of `bundleConsole`, whose licenses are in the same file.
 * @returns False if there were errors.
 */
export async function bundleDashboard(root, target, browser) {
  const parts = await Promise.all([bundleFramework(root, target), bundleRenderer(root, target)]);
  if (!browser || parts.includes(undefined)) return false;
  await writeNotices(root, target, Object.assign({}, browser, ...parts), fileSources);
  return true;
}

/** Replaces the compiled `web-framework.js` in `target` by a bundle of its packages. */
async function bundleFramework(root, target) {
  const result = await built({
    ...node,
    absWorkingDir: root,
    entryPoints: ["plugins/dashboard/web-framework.ts"],
    outdir: target,
    allowOverwrite: true,
    bundle: true,
    format: "esm",
    metafile: true,
    external: unused,
    minifyWhitespace: true,
    legalComments: "none",
    banner: {
      js:
        'import { createRequire } from "node:module";\n' +
        "const require = createRequire(import.meta.url);",
    },
  });
  if (!result) return undefined;
  return result.metafile.outputs;
}

/** Replaces the compiled components in `target` by a bundle of `ui/render.tsx`. */
async function bundleRenderer(root, target) {
  const ui = path.join(target, "ui");
  const compiled = (await readdir(ui)).filter((name) => name !== "text");
  await Promise.all(compiled.map((name) => rm(path.join(ui, name), { recursive: true })));
  const result = await built({
    ...node,
    absWorkingDir: root,
    entryPoints: ["plugins/dashboard/ui/render.tsx"],
    outdir: path.join(target, "ui"),
    bundle: true,
    format: "esm",
    metafile: true,
    minifyWhitespace: true,
    legalComments: "none",
  });
  return result?.metafile.outputs;
}

/**
 * Bundles the worker of the SQLite store into `target`. One script starts in 35 ms of processor
 * time, the modules of which it consists in 55 ms.
 *
 * @returns False if there were errors.
 */
export async function bundleWorker(root, target) {
  return built({
    ...node,
    absWorkingDir: root,
    entryPoints: ["plugins/conversations/stores/sqlite/worker.ts"],
    outfile: target,
    bundle: true,
    format: "cjs",
    define: { "import.meta.url": "__url" },
    banner: { js: 'const __url = require("node:url").pathToFileURL(__filename).href;' },
  });
}

/**
 * Wraps a module as the function that `bin/compile-cache/loader.ts` calls. For a script, the code
 * cache of V8 contains all functions that were called; for a module, only those compiled at load
 * time.
 */
async function asFunction(text, imports) {
  const names = ["__unit", "__load", "__foreign", "__url"];
  const used = names.find((name) => text.includes(name));
  if (used) throw new Error(`the program uses the reserved name ${used}`);
  const { code } = await transform(text, {
    ...node,
    format: "cjs",
    define: { "import.meta.url": "__url" },
  });
  let body = code;
  for (const { path: file, kind } of imports) {
    const name = JSON.stringify(`./${path.posix.basename(file)}`);
    const [from, to] = kind === "dynamic-import" ? ["import", "__load"] : ["require", "__unit"];
    if (!code.includes(`${from}(${name})`)) throw new Error(`the bundle has no ${from}(${name})`);
    body = body.replaceAll(`${from}(${name})`, `${to}(${name})`);
  }
  const script = body.replaceAll(/\bimport\((?=\s*[^\s"'])/g, "__foreign(");
  return `(function (exports, module, require, ${names.join(", ")}) {"use strict";${script}})\n`;
}

/** @returns Undefined after errors, which the bundler has printed. */
async function built(options) {
  try {
    return await build(options);
  } catch (error) {
    if (!Array.isArray(error.errors)) throw error;
    return undefined;
  }
}

/**
 * Writes the licenses of all packages that these outputs contain.
 *
 * @param more - More files of packages, relative to `root`.
 */
async function writeNotices(root, folder, outputs, more = []) {
  const files = Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs));
  files.push(...more);
  const text = await notices(files.map((file) => path.resolve(root, file)));
  await writeFile(path.join(folder, "THIRD-PARTY-NOTICES.txt"), text);
}

/** Collects the license of every package that one of these files belongs to. */
async function notices(files) {
  const ofPackage = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/;
  const folders = new Set(files.flatMap((file) => ofPackage.exec(file)?.[0] ?? []));
  const texts = await Promise.all([...folders].map(noticeOf));
  const intro =
    "These files contain code of the packages below. The file LICENSE is for Doorward itself.";
  return `${[intro, ...texts.sort()].join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}

async function noticeOf(folder) {
  const { name, version, license, author } = createRequire(import.meta.url)(
    path.join(folder, "package.json"),
  );
  const found = (await readdir(folder))
    .filter((file) => /^(licen[cs]e|notice|copying)/i.test(file))
    .sort();
  if (license === undefined && found.length === 0) throw new Error(`${name} names no license`);
  const by = typeof author === "string" ? author : (author?.name ?? "its authors");
  const texts = await Promise.all(found.map((file) => readFile(path.join(folder, file), "utf8")));
  if (found.length === 0)
    texts.push(`By ${by}. The package does not contain the text of its license.`);
  return [`${name} ${version} (${license})`, ...texts.map((text) => text.trim())].join("\n\n");
}
