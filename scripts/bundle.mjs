// Bundles the program into one file per part that is loaded separately, instead of about 240
// modules at each start. Also bundles the web framework and the
// scripts and styles of the pages.
import { readFile, readdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { build } from "esbuild";
import { rolldown } from "rolldown";
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

/**
 * Writes minified scripts and styles of the console pages to `target`.
 *
 * @returns The scripts as the bundler describes them, or undefined if there were errors.
 */
export async function bundleConsole(root, target) {
  const { scripts, styles } = await consoleEntries(root);
  const written = await Promise.all([
    bundleScripts(root, scripts, target),
    built(root, {
      entryPoints: styles,
      outdir: target,
      external: ["*.woff2"],
      minify: true,
      target: "es2023",
    }),
  ]);
  return written.includes(undefined) ? undefined : written[0];
}

/** Files that so many pages and later parts share are one file, which compresses better. */
const minSharers = 6;

/** All files that show messages need these, so one file saves requests. */
const messages = {
  name: "messages",
  test: /pages.chat.(frames|state.groups|files.(file-view|stored-file|file-kind))\.tsx?$/,
};

/** Rolldown joins small shared files and leaves out unused code, which saves a page 3 kB. */
async function bundleScripts(root, input, target) {
  try {
    const bundle = await rolldown({
      cwd: root,
      input,
      platform: "browser",
      tsconfig: "tsconfig.json",
      transform: { target: "es2023" },
      preserveEntrySignatures: false,
      // A page must not run because a later part of another page needs a file of it.
      experimental: { chunkOptimization: { mergeCommonChunks: false } },
    });
    const { output } = await bundle.write({
      dir: target,
      format: "esm",
      minify: true,
      comments: false,
      codeSplitting: {
        groups: [{ name: "common", minShareCount: minSharers }, messages],
        includeDependenciesRecursively: false,
      },
      entryFileNames: "[name].js",
      chunkFileNames: "[name]-[hash].js",
      hashCharacters: "hex",
    });
    await bundle.close();
    return output;
  } catch (error) {
    console.error(error.message);
    return undefined;
  }
}

/**
 * Writes the scripts of sign-in and setup to `target`. Each is one file: a first visit needs one
 * request.
 *
 * @returns The outputs, or undefined if there were errors.
 */
export async function bundleDoorways(root, target) {
  const pages = "plugins/dashboard/pages";
  return built(root, {
    entryPoints: ["sign-in", "setup"].map((name) => ({
      in: `${pages}/doorway/${name}-script.ts`,
      out: name,
    })),
    outdir: target,
    minify: true,
    platform: "browser",
    target: "es2023",
  });
}

const node = {
  platform: "node",
  target: "node20.19",
  // Without this, each use of such an expression compiles it again.
  supported: { "regexp-unicode-property-escapes": true },
};

/** Bundled packages call `require`, which modules do not have. */
const requireBanner = {
  js:
    'import { createRequire as bundleRequire } from "node:module";\n' +
    "const require = bundleRequire(import.meta.url);",
};

/**
 * Bundles `bin/` of `root` into `folder`, with the license notices of its packages. `doorward.js`
 * loads `start.js` if the version of Node is supported. Modules loaded with `createRequire` stay in
 * their packages. Messages go to the terminal.
 *
 * @returns False if there were errors.
 */
export async function bundleProgram(root, folder) {
  const [entry, start] = await Promise.all([
    built(root, { ...node, ...entryOptions, outdir: folder, entryPoints: ["bin/doorward.ts"] }),
    built(root, {
      ...node,
      outdir: folder,
      entryPoints: ["bin/start.ts"],
      splitting: true,
      chunkNames: "[name]-[hash]",
      external: unused,
      legalComments: "none",
      banner: requireBanner,
    }),
  ]);
  if (!entry || !start) return false;
  await writeNotices(root, folder, sourcesOf(start));
  return true;
}

/** An old Node reads the entry, and nothing else, to say which version is required. */
const entryOptions = {
  target: "node12.20",
  plugins: [
    {
      name: "start",
      setup({ onResolve }) {
        onResolve({ filter: /^\.\/start\.ts$/ }, () => ({ path: "./start.js", external: true }));
      },
    },
  ],
};

/**
 * Bundles the packages of the dashboard into `target`, with their license notices, so that they are
 * not dependencies of the package: the web framework, and the renderer of the pages.
 *
 * @param browser - Scripts of `bundleConsole`, whose licenses are in the same file.
 * @returns False if there were errors.
 */
export async function bundleDashboard(root, target, browser) {
  const parts = await Promise.all([bundleFramework(root, target), bundleRenderer(root, target)]);
  if (!browser || parts.includes(undefined)) return false;
  const sources = [...browser.flatMap(({ moduleIds }) => moduleIds), ...parts.flatMap(sourcesOf)];
  await writeNotices(root, target, [...sources, ...fileSources]);
  return true;
}

/** Replaces the compiled modules in `target` that export packages by bundles of those packages. */
const bundleFramework = (root, target) =>
  built(root, {
    ...node,
    entryPoints: ["web-framework", "cookie-format"].map(
      (name) => `plugins/dashboard/server/${name}.ts`,
    ),
    outdir: path.join(target, "server"),
    allowOverwrite: true,
    external: unused,
    minifyWhitespace: true,
    legalComments: "none",
    banner: requireBanner,
  });

/** Replaces the compiled components in `target` by a bundle of `pages/render.tsx`. */
async function bundleRenderer(root, target) {
  const pages = path.join(target, "pages");
  const compiled = await readdir(pages);
  await Promise.all(compiled.map((name) => rm(path.join(pages, name), { recursive: true })));
  return built(root, {
    ...node,
    entryPoints: ["plugins/dashboard/pages/render.tsx"],
    outdir: pages,
    minifyWhitespace: true,
    legalComments: "none",
  });
}

/** @returns The outputs. Undefined after errors, which the bundler has printed. */
async function built(root, options) {
  const shared = { absWorkingDir: root, bundle: true, metafile: true, logLevel: "warning" };
  try {
    const { metafile } = await build({ format: "esm", ...shared, ...options });
    return metafile.outputs;
  } catch (error) {
    if (!Array.isArray(error.errors)) throw error;
    return undefined;
  }
}

/** @returns The source files of outputs of esbuild. */
const sourcesOf = (outputs) => Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs));

/** Writes the licenses of all packages that have one of the files, relative to `root`. */
async function writeNotices(root, folder, files) {
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
