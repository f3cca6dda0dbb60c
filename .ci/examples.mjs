// Runs the examples as a reader does: installs the tarball in an empty project and compiles each
// example there. Then .ci/use-examples.mjs starts and uses them, under each named Node in parallel.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const { devDependencies, dependencies } = JSON.parse(
  readFileSync(path.join(root, "package.json"), "utf8"),
);
const tsc = createRequire(import.meta.url)
  .resolve("typescript/package.json")
  .replace("package.json", "bin/tsc");
const project = mkdtempSync(path.join(tmpdir(), "doorward-examples-"));
const run = (command, ...args) =>
  execFileSync(command, args, {
    cwd: project,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });

try {
  const started = Date.now();
  const [{ filename }] = JSON.parse(run("npm", "pack", root, "--json", "--ignore-scripts"));
  writeFileSync(
    path.join(project, "package.json"),
    JSON.stringify({ name: "project", private: true, type: "module" }),
  );
  const others = [
    "express@5",
    "@types/express@5",
    `fastify@${devDependencies.fastify}`,
    `zod@${dependencies.zod}`,
    `esbuild@${devDependencies.esbuild}`,
    `@photostructure/sqlite@${devDependencies["@photostructure/sqlite"]}`,
    ...["react@19", "react-dom@19", "@types/react@19", "@types/react-dom@19"],
  ];
  const folders = ["dist-client", "examples/channel-mqtt", "examples/channel-telegram"];
  const packed = folders.map((name) => {
    const folder = path.join(root, name);
    return JSON.parse(run("npm", "pack", folder, "--json", "--ignore-scripts"))[0].filename;
  });
  const types = `@types/node@${devDependencies["@types/node"]}`;
  run(
    "npm",
    "install",
    "--no-audit",
    "--no-fund",
    `./${filename}`,
    ...packed.map((file) => `./${file}`),
    ...others,
    types,
  );
  const all = readdirSync(path.join(root, "examples"), { withFileTypes: true });
  const names = all
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .filter((name) => name !== "programs");
  for (const name of names)
    cpSync(path.join(root, "examples", name), path.join(project, name), { recursive: true });
  cpSync(path.join(root, "examples", "client.ts"), path.join(project, "client", "index.ts"));
  compile([...names, "client"]);
  console.log(`installed and compiled in ${((Date.now() - started) / 1000).toFixed(1)} s`);

  const nodes = process.argv.length > 2 ? process.argv.slice(2) : [process.execPath];
  const ways = await Promise.all(nodes.map((node) => visit(node)));
  for (const { output } of ways) process.stdout.write(output);
  if (ways.some(({ code }) => code !== 0)) process.exitCode = 1;
} finally {
  rmSync(project, { recursive: true, force: true });
}

async function visit(node) {
  const script = fileURLToPath(new URL("use-examples.mjs", import.meta.url));
  const child = spawn(node, [script, project], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (more) => (output += more));
  const [code] = await once(child, "close");
  return { code, output };
}

function compile(folders) {
  const compilerOptions = {
    module: "nodenext",
    target: "es2023",
    lib: ["es2023", "esnext.disposable", "dom"],
    jsx: "react-jsx",
    types: ["node"],
    strict: true,
    exactOptionalPropertyTypes: true,
    rewriteRelativeImportExtensions: true,
    rootDir: ".",
    outDir: "built",
    skipLibCheck: true,
    allowJs: true,
  };
  const configuration = { compilerOptions, include: folders, exclude: ["**/*.test.js"] };
  writeFileSync(path.join(project, "tsconfig.json"), JSON.stringify(configuration));
  try {
    run(process.execPath, tsc, "-p", ".");
  } catch (error) {
    throw new Error(`the examples do not compile:\n${error.stdout}`, { cause: error });
  }
}
