// Bundles the program: one file per part that is loaded by itself, instead of some 240 modules at each start.
import { readFile, readdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { build } from "esbuild";

/** Fastify asks for these when a route has a schema or a test injects a request; none does. */
const unused = ["@fastify/ajv-compiler", "@fastify/fast-json-stringify-compiler", "light-my-request"];

/** CommonJS inside asks for Node's own modules by `require`. */
const lead = `import { createRequire as requireOf } from "node:module";
const require = requireOf(import.meta.url);`;

/** Writes `bin/` of `root` to `folder`, with the notices of what is inside. Messages go to the terminal; false when
 *  there were errors. What is loaded with `createRequire` stays in its package. */
export async function bundle(root, folder) {
  try {
    const { metafile } = await build({
      absWorkingDir: root,
      entryPoints: ["bin/doorward.ts"],
      outdir: folder,
      bundle: true,
      splitting: true,
      format: "esm",
      platform: "node",
      target: "node20.19",
      external: unused,
      legalComments: "none",
      banner: { js: lead },
      chunkNames: "[name]-[hash]",
      metafile: true,
      logLevel: "warning",
    });
    const files = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs));
    const text = await notices(files.map((file) => path.resolve(root, file)));
    await writeFile(path.join(folder, "THIRD-PARTY-NOTICES.txt"), text);
    return true;
  } catch (error) {
    if (!Array.isArray(error.errors)) throw error; // not the bundler's own, which it has shown
    return false;
  }
}

/** The licence of every package that one of these files belongs to. */
async function notices(files) {
  const ofPackage = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/;
  const folders = new Set(files.flatMap((file) => ofPackage.exec(file)?.[0] ?? []));
  const texts = await Promise.all([...folders].map(noticeOf));
  const intro = "The program holds code of these packages. Doorward's own licence is the file LICENSE.";
  return `${[intro, ...texts.sort()].join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}

async function noticeOf(folder) {
  const { name, version, license, author } = createRequire(import.meta.url)(path.join(folder, "package.json"));
  const found = (await readdir(folder)).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file)).sort();
  if (license === undefined && found.length === 0) throw new Error(`${name} names no licence`);
  const by = typeof author === "string" ? author : (author?.name ?? "its authors");
  const texts = await Promise.all(found.map((file) => readFile(path.join(folder, file), "utf8")));
  if (found.length === 0) texts.push(`By ${by}. The package brings no text of the licence it names.`);
  return [`${name} ${version} (${license})`, ...texts.map((text) => text.trim())].join("\n\n");
}
