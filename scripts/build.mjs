// Builds dist/: the program, the pages and documentation of the dashboard, and copied files. Builds
// the package of the client in dist-client/.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, copyFile, mkdir, readdir, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { bundleConsole, bundleDashboard, bundleDoorways, bundleProgram } from "./bundle.mjs";
import {
  checkBudgets,
  checkDoorwayBudgets,
  checkPages,
  writeConsoleFiles,
  writePreloads,
} from "./console-assets.mjs";
import { writeCommandLineFiles } from "./command-line.mjs";
import { writeClientPackage } from "./client-package.mjs";
import { writeDocs } from "./docs.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = path.join(root, "dist");
const pages = path.join("plugins", "dashboard", "pages");
const consoleFolder = path.join(dist, "plugins", "dashboard", "console");
const tsc = path.join(
  path.dirname(createRequire(import.meta.url).resolve("typescript/package.json")),
  "bin",
  "tsc",
);

process.stderr.write("Building Doorward. This takes up to a minute.\n");
await rm(dist, { recursive: true, force: true });
const [consoleScripts, doorwayOutputs, ...compiled] = await Promise.all([
  bundleConsole(root, consoleFolder),
  bundleDoorways(root, consoleFolder),
  writeConsoleFiles(root, consoleFolder),
  compile("."),
  compile(pages),
  copy(path.join("plugins", "tray", "scripts"), /\.(js|ps1)$/),
  writeDocs(root, path.join(dist, "plugins", "dashboard", "docs")),
]);
if (!doorwayOutputs) compiled.push(false);
if (consoleScripts) {
  await writePreloads(consoleScripts, consoleFolder);
  compiled.push(checkPages(consoleScripts), await checkBudgets(consoleScripts, consoleFolder));
}
if (compiled.every(Boolean)) await writeCommandLineFiles(root);
// No package entry point uses the program, so the bundle replaces its modules and declarations.
await rm(path.join(dist, "bin"), { recursive: true, force: true });
compiled.push(
  ...(await Promise.all([
    bundleProgram(root, path.join(dist, "bin")),
    bundleDashboard(root, path.join(dist, "plugins", "dashboard"), consoleScripts),
  ])),
);
if (compiled.every(Boolean)) compiled.push(await checkDoorwayBudgets(consoleFolder));
await chmod(path.join(dist, "bin", "doorward.js"), 0o755).catch((error) => {
  if (error.code !== "ENOENT") throw error;
});
if (compiled.every(Boolean)) await writeClientPackage(root, dist, path.join(root, "dist-client"));
process.exitCode = compiled.every(Boolean) ? 0 : 1;

/**
 * Runs the compiler, whose messages go to the terminal.
 *
 * @returns False if there were errors.
 */
async function compile(project) {
  const child = spawn(process.execPath, [tsc, "-p", project], { cwd: root, stdio: "inherit" });
  const [code] = await once(child, "exit");
  return code === 0;
}

/** Copies the files of a folder whose names match. */
async function copy(folder, pattern) {
  const names = (await readdir(path.join(root, folder))).filter((name) => pattern.test(name));
  await mkdir(path.join(dist, folder), { recursive: true });
  await Promise.all(
    names.map((name) => copyFile(path.join(root, folder, name), path.join(dist, folder, name))),
  );
  return true;
}
