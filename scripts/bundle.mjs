// Bundles what is loaded as a whole: the program (one file per part that is loaded by itself, instead of some 240
// modules at each start) and the scripts and styles of the dashboard's pages.
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { build, transform } from "esbuild";

/** Fastify asks for these when a route has a schema or a test injects a request; none does. */
const unused = [
  "@fastify/ajv-compiler",
  "@fastify/fast-json-stringify-compiler",
  "light-my-request",
];

/** The modules that pages load; what several of them share becomes files of its own. */
const pages = [
  "chat",
  "connect",
  "connections",
  "doctor",
  "log",
  "overview",
  "ready",
  "sessions",
  "settings",
  "setup",
  "sign-in",
  "tokens",
];

/** Writes scripts and styles of the dashboard's pages, minified, from `folder` of `root` to `target`. */
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

const node = { platform: "node", target: "node20.19", logLevel: "warning" };

/** Writes `bin/` of `root` to `folder`, with the notices of what is inside: `doorward.js`, which loads the other files
 *  (bin/code). Messages go to the terminal; false when there were errors. What is loaded with `createRequire` stays in
 *  its package. */
export async function bundleProgram(root, folder) {
  const all = {
    ...node,
    absWorkingDir: root,
    outdir: folder,
    bundle: true,
    format: "esm",
    metafile: true,
  };
  const [entry, parts] = await Promise.all([
    built({ ...all, entryPoints: ["bin/doorward.ts"] }),
    built({
      ...all,
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
  const files = Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs));
  const text = await notices(files.map((file) => path.resolve(root, file)));
  await writeFile(path.join(folder, "THIRD-PARTY-NOTICES.txt"), text);
  return true;
}

/** A module as the function that `bin/compile-cache/loader.ts` calls: V8 gives what it compiled of a script, functions that
 *  were called included; of a module it would give only what it compiles at once. */
async function asFunction(text, imports) {
  const names = ["__unit", "__load", "__foreign", "__url"];
  const taken = names.find((name) => text.includes(name));
  if (taken) throw new Error(`the program uses the name ${taken} by itself`);
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
  const whole = body.replaceAll(/\bimport\((?=\s*[^\s"'])/g, "__foreign(");
  return `(function (exports, module, require, ${names.join(", ")}) {"use strict";${whole}})\n`;
}

/** Undefined after errors, which the bundler has shown. */
async function built(options) {
  try {
    return await build(options);
  } catch (error) {
    if (!Array.isArray(error.errors)) throw error;
    return undefined;
  }
}

/** The licence of every package that one of these files belongs to. */
async function notices(files) {
  const ofPackage = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/;
  const folders = new Set(files.flatMap((file) => ofPackage.exec(file)?.[0] ?? []));
  const texts = await Promise.all([...folders].map(noticeOf));
  const intro =
    "The program holds code of these packages. Doorward's own licence is the file LICENSE.";
  return `${[intro, ...texts.sort()].join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}

async function noticeOf(folder) {
  const { name, version, license, author } = createRequire(import.meta.url)(
    path.join(folder, "package.json"),
  );
  const found = (await readdir(folder))
    .filter((file) => /^(licen[cs]e|notice|copying)/i.test(file))
    .sort();
  if (license === undefined && found.length === 0) throw new Error(`${name} names no licence`);
  const by = typeof author === "string" ? author : (author?.name ?? "its authors");
  const texts = await Promise.all(found.map((file) => readFile(path.join(folder, file), "utf8")));
  if (found.length === 0)
    texts.push(`By ${by}. The package brings no text of the licence it names.`);
  return [`${name} ${version} (${license})`, ...texts.map((text) => text.trim())].join("\n\n");
}
