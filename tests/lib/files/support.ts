import { spawn, spawnSync, type ChildProcessByStdio } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";
import { buildSync } from "esbuild";
import { afterAll, afterEach } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const folders: string[] = [];

/** A folder that is gone after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "doorward-files-"));
  folders.push(folder);
  return folder;
}

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

let compiled: string | undefined;
afterAll(() => {
  if (compiled !== undefined) rmSync(compiled, { recursive: true, force: true });
});

/** The URL of a module, compiled into one file: child processes of Node 20 do not run TypeScript. */
export function compiledModule(path: "lib/files/index.js" | "bin/log/index.js"): string {
  if (compiled === undefined) {
    compiled = mkdtempSync(join(tmpdir(), "doorward-compiled-"));
    symlinkSync(join(root, "node_modules"), join(compiled, "node_modules"), "dir");
  }
  const outfile = join(compiled, path.replace("index.js", "index.mjs"));
  const entry = join(root, path.replace(".js", ".ts"));
  if (!existsSync(outfile)) {
    buildSync({
      entryPoints: [entry],
      outfile,
      bundle: true,
      platform: "node",
      format: "esm",
      packages: "external",
    });
  }
  return pathToFileURL(outfile).href;
}

/** Runs a script that may write files of at most `kibibytes`, as on a disk that is nearly full; answers what it printed. */
export function runWithSmallDisk(kibibytes: number, script: string): string {
  const command = `ulimit -f ${kibibytes}; exec "${process.execPath}" --input-type=module -e "$SCRIPT"`;
  const env = { ...process.env, SCRIPT: `process.on("SIGXFSZ", () => {});\n${script}` };
  return spawnSync("bash", ["-c", command], { env, encoding: "utf8" }).stdout;
}

export interface Child {
  readonly process: ChildProcessByStdio<null, Readable, null>;
  /** Everything it printed so far, by line. */
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
