// What a user of the package gets: the tarball is installed in an empty project, and every entry
// point is imported there by Node and, with the declarations of all libraries checked, by the
// compiler in both ways of resolving.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

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
const project = mkdtempSync(path.join(tmpdir(), "doorward-package-"));
const run = (command, ...args) =>
  execFileSync(command, args, {
    cwd: project,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 1e8,
  });

try {
  const [{ filename, files }] = JSON.parse(run("npm", "pack", root, "--json", "--ignore-scripts"));
  const packed = files.map((file) => file.path);
  const expected = ["package.json", "README.md", "CHANGELOG.md", "LICENSE", "dist/bin/doorward.js"];
  const known = /^(?:dist\/|docs\/(?:[a-z-]+\.md$|deploy\/)|config\/samples\/)/;
  const strange = packed.filter((file) => !known.test(file) && !expected.includes(file));
  const absent = expected.filter((file) => !packed.includes(file));
  if (strange.length > 0)
    throw new Error(`the package holds what it should not: ${strange.join(", ")}`);
  if (absent.length > 0) throw new Error(`the package lacks ${absent.join(", ")}`);

  write("package.json", JSON.stringify({ name: "project", private: true, type: "module" }));
  const types = `@types/node@${devDependencies["@types/node"]}`;
  run("npm", "install", "--no-audit", "--no-fund", "--omit=dev", `./${filename}`, types);
  write("every.mjs", entries.map((entry) => `await import(${JSON.stringify(entry)});`).join("\n"));
  run(process.execPath, "every.mjs");
  write(
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
    write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["every.ts"] }));
    const inside = compile(moduleResolution).match(
      /node_modules\/(?:fastify|@fastify|pino|xstate|mitt|ws|@types\/ws)\/.*/g,
    );
    if (inside)
      throw new Error(
        `the declarations show the types of libraries that users must not see: ${inside[0]}`,
      );
  }
  console.log(`${files.length} files; ${entries.length} entry points load and compile`);
} finally {
  rmSync(project, { recursive: true, force: true });
}

function write(file, text) {
  writeFileSync(path.join(project, file), text);
}

function compile(way) {
  try {
    return run(process.execPath, tsc, "-p", ".");
  } catch (error) {
    throw new Error(`with ${way} the declarations do not compile:\n${error.stdout}`, {
      cause: error,
    });
  }
}
