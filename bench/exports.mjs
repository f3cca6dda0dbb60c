import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { interleave } from "./rounds.mjs";

/* node bench/exports.mjs: the cost of each entry point of the package: the JavaScript that it loads
 * (of Doorward and of libraries), the load time and the time of the type check. Measured on the built
 * package in separate processes; the fastest of several runs. */

const root = fileURLToPath(new URL("..", import.meta.url));
const rounds = 7;

const node = (/** @type {string[]} */ args, /** @type {string} */ cwd) =>
  execFileSync(process.execPath, args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });

/** Prints the files that `import` and `require` loaded, with their sizes. */
const hooks = `
import { statSync, writeSync } from "node:fs";
export function load(url, context, next) {
  if (url.startsWith("file:") && /\\.[cm]?js$/.test(url)) writeSync(1, statSync(new URL(url)).size + " " + url + "\\n");
  return next(url, context);
}`;
const register = `
import { register, createRequire } from "node:module";
import { statSync } from "node:fs";
register("./hooks.mjs", import.meta.url);
process.on("exit", () => {
  for (const file of Object.keys(createRequire(import.meta.url).cache)) {
    if (/\\.[cm]?js$/.test(file)) console.log(statSync(file).size + " file://" + file);
  }
});`;

/** @param {string} project @param {string} entry
 * @returns {{ own: number, libraries: number }} in bytes */
function sizeOf(project, entry) {
  const lines = node(
    ["--import", "./register.mjs", "--input-type=module", "-e", `await import("${entry}");`],
    project,
  );
  const files = new Map(
    lines
      .trim()
      .split("\n")
      .map((line) => {
        const [bytes, url] = line.split(" ");
        return [url ?? "", Number(bytes)];
      }),
  );
  const sum = { own: 0, libraries: 0 };
  for (const [url, bytes] of files) {
    if (url.includes("/node_modules/")) sum.libraries += bytes;
    else if (
      url.includes("/dist/") &&
      !url.endsWith("/register.mjs") &&
      !url.endsWith("/hooks.mjs")
    )
      sum.own += bytes;
  }
  return sum;
}

/** Returns a function that measures the load time in milliseconds. @param {string} entry */
const loadTime = (entry) => async () => {
  const code = `const t = performance.now(); await import("${entry}"); console.log(performance.now() - t);`;
  return Number(node(["--input-type=module", "-e", code], root));
};

/** Returns the seconds that the compiler needs for a program that imports the entry.
 * @param {string} project @param {string} entry */
async function checkTime(project, entry) {
  const tsc = createRequire(import.meta.url)
    .resolve("typescript/package.json")
    .replace("package.json", "bin/tsc");
  await writeFile(path.join(project, "host.ts"), `export * from "${entry}";\n`);
  const compilerOptions = {
    module: "nodenext",
    target: "es2023",
    lib: ["es2023", "esnext.disposable"],
    types: ["node"],
    strict: true,
    noEmit: true,
    skipLibCheck: false,
  };
  await writeFile(
    path.join(project, "tsconfig.json"),
    JSON.stringify({ compilerOptions, files: ["host.ts"] }),
  );
  const times = [];
  for (let round = 0; round < 3; round += 1) {
    const began = performance.now();
    node([tsc, "-p", "."], project);
    times.push((performance.now() - began) / 1_000);
  }
  return Math.min(...times); // other processes can only add time
}

/** Measures each entry point, and the type check of an empty program. */
export async function measureExports() {
  const { name, exports } = createRequire(import.meta.url)("../package.json");
  const entries = Object.keys(exports)
    .filter((entry) => entry !== "./package.json")
    .map((entry) => path.posix.join(name, entry));
  const project = await mkdtemp(path.join(root, "dist", "exports-"));
  try {
    await writeFile(path.join(project, "hooks.mjs"), hooks);
    await writeFile(path.join(project, "register.mjs"), register);
    const loads = await interleave(rounds, entries.map(loadTime));
    const rows = [];
    for (const [at, entry] of entries.entries()) {
      const { own, libraries } = sizeOf(project, entry);
      rows.push({
        entry,
        own: own / 1e3,
        libraries: libraries / 1e3,
        load: Math.min(...(loads[at] ?? [])),
        check: await checkTime(project, entry),
      });
    }
    return { rows, bareCheck: await checkTime(project, "node:http") };
  } finally {
    await rm(project, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { rows, bareCheck } = await measureExports();
  console.log(
    "| entry point | own code, kB | libraries, kB | load, ms | type check, s |\n|---|---|---|---|---|",
  );
  for (const { entry, own, libraries, load, check } of rows) {
    const cells = [
      `\`${entry}\``,
      own.toFixed(0),
      libraries.toFixed(0),
      load.toFixed(0),
      check.toFixed(2),
    ];
    console.log(`| ${cells.join(" | ")} |`);
  }
  console.log(
    `\nAn empty program with the types of Node: ${bareCheck.toFixed(2)} s. Node ${process.version}.`,
  );
}
