// Tests the packages as users get them. The tarballs are installed in empty projects, by npm with
// strict engine checks and by yarn 1, under this Node and each Node named in the arguments.
// `npx doorward` starts there. Node imports each entry point, and the compiler checks it with the
// declarations of all libraries in both module resolution modes.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { dashboardAddress } from "./banner.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const { name, exports, devDependencies } = JSON.parse(
  readFileSync(path.join(root, "package.json"), "utf8"),
);
const entries = Object.keys(exports)
  .filter((entry) => entry !== "./package.json")
  .map((entry) => path.posix.join(name, entry));
const tsc = createRequire(import.meta.url)
  .resolve("typescript/package.json")
  .replace("package.json", "bin/tsc");
const base = mkdtempSync(path.join(tmpdir(), "doorward-package-"));
const nodes = [process.execPath, ...process.argv.slice(2)];
const npmFolder = path.dirname(
  realpathSync(execFileSync("which", ["npm"], { encoding: "utf8" }).trim()),
);
const quiet = ["--no-audit", "--no-fund", "--prefer-offline"];

function run(cwd, command, ...args) {
  const env = { ...process.env, PATH: `${path.dirname(command)}:${process.env["PATH"]}` };
  const stdio = ["ignore", "pipe", "inherit"];
  return execFileSync(command, args, { cwd, env, encoding: "utf8", stdio, maxBuffer: 1e8 });
}
const npm = (cwd, node, ...args) => run(cwd, node, path.join(npmFolder, "npm-cli.js"), ...args);

try {
  const program = pack(root);
  const client = pack(path.join(root, "dist-client"));
  checkFiles(program.files);
  checkLinks(root, program.files);
  checkLinks(path.join(root, "dist-client"), client.files);
  for (const folder of [root, path.join(root, "dist-client")]) checkPublishing(folder);

  const tools = project("tools");
  npm(tools, process.execPath, "install", ...quiet, "--ignore-scripts", "yarn@1.22.22");
  const yarn = path.join(tools, "node_modules", "yarn", "bin", "yarn.js");
  for (const [at, node] of nodes.entries()) {
    const version = run(base, node, "--version").trim();
    const byNpm = project(`npm-${at}`);
    npm(byNpm, node, "install", ...quiet, "--engine-strict", program.tarball, client.tarball);
    await startByNpx(byNpm, node);
    const byYarn = project(`yarn-${at}`);
    const cache = path.join(base, "yarn-cache");
    const add = [
      "add",
      "--silent",
      "--non-interactive",
      "--prefer-offline",
      "--cache-folder",
      cache,
    ];
    run(byYarn, node, yarn, ...add, `file:${program.tarball}`, `file:${client.tarball}`);
    for (const folder of [byNpm, byYarn]) checkImports(folder, node);
    console.log(`${version}: installed by npm and yarn 1, started by npx`);
  }

  const alone = project("alone");
  npm(alone, process.execPath, "install", ...quiet, "--engine-strict", client.tarball);
  const lock = JSON.parse(readFileSync(path.join(alone, "package-lock.json"), "utf8"));
  const installed = Object.keys(lock.packages).filter((file) => file !== "");
  if (installed.length !== 1) throw new Error(`the client installs ${installed.join(", ")}`);

  const typed = project("typed");
  const types = `@types/node@${devDependencies["@types/node"]}`;
  npm(typed, process.execPath, "install", ...quiet, "--omit=dev", program.tarball, types);
  checkTypes(typed);
  console.log(`${program.files.length} files; ${entries.length} entry points load and compile`);
} finally {
  rmSync(base, { recursive: true, force: true });
}

function project(folder) {
  const place = path.join(base, folder);
  mkdirSync(place);
  write(place, "package.json", JSON.stringify({ name: folder, private: true, type: "module" }));
  return place;
}

function write(folder, file, text) {
  writeFileSync(path.join(folder, file), text);
}

function pack(folder) {
  const args = ["pack", folder, "--json", "--ignore-scripts"];
  const [{ filename, files }] = JSON.parse(npm(base, process.execPath, ...args));
  return { tarball: path.join(base, filename), files: files.map((file) => file.path) };
}

function checkFiles(packed) {
  const expected = [
    "package.json",
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    "dist/bin/doorward.js",
    "man/doorward.1",
  ];
  const known = /^(?:dist\/|docs\/(?:[a-z-]+\.md$|deploy\/)|config\/samples\/|man\/doorward\.1$)/;
  const strange = packed.filter((file) => !known.test(file) && !expected.includes(file));
  const absent = expected.filter((file) => !packed.includes(file));
  const maps = packed.filter((file) => file.endsWith(".map"));
  if (strange.length > 0)
    throw new Error(`the package holds what it should not: ${strange.join(", ")}`);
  if (absent.length > 0) throw new Error(`the package lacks ${absent.join(", ")}`);
  if (maps.length > 0) throw new Error(`the package contains source maps: ${maps.join(", ")}`);
}

/** Links of the package lead to its own files, or to existing files of the repository. */
function checkLinks(folder, packed) {
  const dead = packed
    .filter((file) => file.endsWith(".md"))
    .flatMap((file) => {
      const text = readFileSync(path.join(folder, file), "utf8").replace(/^```[^]*?^```$/gm, "");
      const links = text.matchAll(/\]\(([^)\s]+)\)|\b(?:href|src|srcset)="([^"]+)"/g);
      return [...links]
        .map(([, inText, inTag]) => inText ?? inTag)
        .filter((link) => !leadsSomewhere(link, file, packed))
        .map((link) => `${file}: ${link}`);
    });
  if (dead.length > 0) throw new Error(`dead links in the package:\n${dead.join("\n")}`);
}

function leadsSomewhere(link, file, packed) {
  const [target] = link.split("#");
  const own = /\/doorward\/doorward\/(?:(?:blob|tree)\/)?main\/(.+)$/.exec(target);
  if (own) return existsSync(path.join(root, own[1]));
  if (target === "" || /^[a-z]+:/.test(target)) return true;
  const inside = path.posix.join(path.posix.dirname(file), target);
  return packed.some((name) => name === inside || name.startsWith(`${inside}/`));
}

/** The dry run fails for an invalid manifest, and warns about each field that npm would correct. */
function checkPublishing(folder) {
  const manifest = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  const missing = ["homepage", "bugs", "repository", "license", "files", "engines"].filter(
    (field) => manifest[field] === undefined,
  );
  if (missing.length > 0) throw new Error(`${manifest.name} lacks ${missing.join(", ")}`);
  const { provenance, access } = manifest.publishConfig;
  if (provenance !== true || access !== "public")
    throw new Error(`${manifest.name} is not published with provenance`);
  const command = `"${process.execPath}" "${path.join(npmFolder, "npm-cli.js")}"`;
  const output = run(folder, "/bin/sh", "-c", `${command} publish --dry-run --ignore-scripts 2>&1`);
  const corrections = output.match(/npm warn publish (?:npm auto-corrected|errors corrected).*/g);
  if (corrections) throw new Error(`${manifest.name}: ${corrections.join(", ")}`);
}

/** `npx doorward` starts and answers. It stops when npx receives SIGTERM. */
async function startByNpx(folder, node) {
  const words = ["doorward", "-console", "-no-browser", "-port", "0"];
  const npx = spawn(node, [path.join(npmFolder, "npx-cli.js"), "--offline", ...words], {
    cwd: folder,
    env: {
      ...process.env,
      PATH: `${path.dirname(node)}:${process.env["PATH"]}`,
      SERVICE_HOME: path.join(folder, "home"),
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(npx, "exit");
  const address = await dashboardAddress(npx);
  const response = await fetch(new URL("/healthz", address));
  if (response.status !== 200) throw new Error(`/healthz responded with ${response.status}`);
  npx.kill("SIGTERM");
  await ended;
  const limit = Date.now() + 10_000;
  while (await isServed(address)) {
    if (Date.now() > limit) throw new Error("the launcher continues after the end of npx");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function isServed(address) {
  try {
    const request = { headers: { connection: "close" } };
    await (await fetch(new URL("/healthz", address), request)).text();
    return true;
  } catch {
    return false;
  }
}

function checkImports(folder, node) {
  const all = [...entries, "doorward-client"];
  const code = all.map((entry) => `await import(${JSON.stringify(entry)});`).join("\n");
  write(folder, "every.mjs", code);
  run(folder, node, "every.mjs");
}

function checkTypes(folder) {
  write(
    folder,
    "every.ts",
    entries.map((entry, at) => `export * as entry${at} from ${JSON.stringify(entry)};`).join("\n"),
  );
  for (const [module, moduleResolution] of [
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ]) {
    const compilerOptions = {
      module,
      moduleResolution,
      target: "es2023",
      lib: ["es2023", "esnext.disposable"],
      types: ["node"],
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      noEmit: true,
      listFiles: true,
    };
    write(folder, "tsconfig.json", JSON.stringify({ compilerOptions, files: ["every.ts"] }));
    const inside = compile(folder, moduleResolution).match(
      /node_modules\/(?:fastify|@fastify|pino|xstate|mitt|ws|@types\/ws)\/.*/g,
    );
    if (inside)
      throw new Error(
        `the declarations show the types of libraries that users must not see: ${inside[0]}`,
      );
  }
}

function compile(folder, way) {
  try {
    return run(folder, process.execPath, tsc, "-p", ".");
  } catch (error) {
    throw new Error(`with ${way} the declarations do not compile:\n${error.stdout}`, {
      cause: error,
    });
  }
}
