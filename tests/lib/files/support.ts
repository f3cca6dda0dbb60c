import { spawn, spawnSync, type ChildProcessByStdio } from "node:child_process";
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";
import { buildSync } from "esbuild";
import { onTestFinished } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Makes a directory that is removed after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "doorward-files-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const compiled = new Set<string>();

/**
 * Compiles a module into one file, because child processes of Node 20 do not run TypeScript.
 *
 * @returns The URL of the file.
 */
export function compiledModule(path: "lib/files/index.js" | "bin/log/index.js"): string {
  const outfile = join(
    root,
    "node_modules",
    ".cache",
    "doorward-tests",
    path.replace(".js", ".mjs"),
  );
  if (!compiled.has(path)) {
    // Other test processes use the same file: the rename replaces it as a whole.
    const temporary = `${outfile}.${process.pid}`;
    buildSync({
      entryPoints: [join(root, path.replace(".js", ".ts"))],
      outfile: temporary,
      bundle: true,
      platform: "node",
      format: "esm",
      packages: "external",
    });
    renameSync(temporary, outfile);
    compiled.add(path);
  }
  return pathToFileURL(outfile).href;
}

/**
 * Runs a script that can write files of at most `kibibytes`, as on a nearly full disk.
 *
 * @returns The output of the script.
 */
export function runWithSmallDisk(kibibytes: number, script: string): string {
  const node = `"${process.execPath}" --input-type=module -e "$SCRIPT"`;
  const command = `ulimit -f ${kibibytes}; exec ${node}`;
  const env = { ...process.env, SCRIPT: `process.on("SIGXFSZ", () => {});\n${script}` };
  return spawnSync("bash", ["-c", command], { env, encoding: "utf8" }).stdout;
}

export interface Child {
  readonly process: ChildProcessByStdio<null, Readable, null>;
  /** The lines it has printed so far. */
  lines(): string[];
  /** Resolves to the first `count` lines. */
  printed(count: number): Promise<string[]>;
  ended: Promise<number | null>;
}

/** A real process that runs `children/<name>.mjs` with the compiled module and `args`. */
export function startChild(name: string, ...args: string[]): Child {
  const script = fileURLToPath(new URL(`children/${name}.mjs`, import.meta.url));
  const module = compiledModule("lib/files/index.js");
  const child = spawn(process.execPath, [script, module, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  const ended = new Promise<number | null>((done) => child.once("close", (code) => done(code)));
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  const lines = () => output.split("\n").slice(0, -1);
  const printed = (count: number) =>
    new Promise<string[]>((done, fail) => {
      const look = () => lines().length >= count && done(lines().slice(0, count));
      child.stdout.on("data", look);
      void ended.then(() =>
        look() ? undefined : fail(new Error(`${name} ended after ${lines().length} lines`)),
      );
      look();
    });
  return { process: child, lines, printed, ended };
}
