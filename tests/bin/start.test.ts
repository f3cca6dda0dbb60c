// Tests the built entry of the command line: the check of the Node version, and wrong arguments.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { transform } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const entry = join(root, "dist/bin/doorward.js");
let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "doorward-start-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the entry under this Node, which reports another version. */
async function runUnder(version: string): Promise<Result> {
  const preload = join(folder, `node-${version}.cjs`);
  const versions = `{ ...process.versions, node: ${JSON.stringify(version)} }`;
  await writeFile(preload, `Object.defineProperty(process, "versions", { value: ${versions} });`);
  return run(["version"], ["--require", preload]);
}

function run(
  words: readonly string[],
  nodeOptions: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Result> {
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      [...nodeOptions, entry, ...words],
      { env: { ...process.env, SERVICE_HOME: join(folder, "home"), ...env } },
      (_error, stdout, stderr) => done({ code: child.exitCode, stdout, stderr }),
    );
  });
}

const unsafe = "wrong\u009b31m\u202eword";

describe("dist/bin/doorward.js", () => {
  test("needs no syntax newer than Node 12.20", async () => {
    const text = await readFile(entry, "utf8");
    const [old, latest] = await Promise.all(
      ["node12.20", "esnext"].map((target) => transform(text, { target, format: "esm" })),
    );
    expect(old?.code).toBe(latest?.code);
    expect(text).not.toMatch(/^\s*(?:import|export)\b/m);
    expect(text).not.toContain("node:");
  });

  test("checks the versions of the field engines", async () => {
    const { engines } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
      engines: { node: string };
    };
    expect(engines.node).toBe("^20.19.0 || >=22.2.0");
  });

  test.each(["12.20.0", "18.20.8", "20.18.3", "21.7.3", "22.1.0"])(
    "names the required version under Node %s",
    async (version) => {
      const { code, stdout, stderr } = await runUnder(version);
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toMatch(/^doorward: Node 20\.19, .* is required; this is Node [\d.]+\n$/);
      expect(stderr).toContain(version);
    },
  );

  test("prints no control characters of a wrong argument", async () => {
    for (const words of [
      ["help", unsafe],
      ["-port", unsafe],
      ["token", unsafe],
    ]) {
      const { code, stderr } = await run(words);
      expect(code).toBeGreaterThan(0);
      expect(stderr).toContain("doorward: ");
      expect(stderr).not.toMatch(/[\u009b\u202e]/);
    }
  });

  test("explains an error of the system without its code", async () => {
    if (process.platform !== "linux") return;
    const bin = join(folder, "bin");
    await mkdir(bin);
    await writeFile(join(bin, "systemctl"), "#!/bin/sh\nexit 0\n", { mode: 0o755 });
    const home = join(folder, "a-file");
    await writeFile(home, "");
    const env = { HOME: home, XDG_CONFIG_HOME: home, PATH: `${bin}:/usr/bin:/bin` };
    const { code, stderr } = await run(["service", "install"], [], env);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^doorward: .*a-file\S*: a part of its path is not a folder\.\n$/);
  });

  test.each(["20.19.0", "22.2.0", "24.0.0"])("starts under Node %s", async (version) => {
    const { code, stderr } = await runUnder(version);
    expect([code, stderr]).toEqual([0, ""]);
  });
});
