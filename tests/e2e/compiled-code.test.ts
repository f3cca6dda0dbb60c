// Runs the built program with a Node that can store compiled code, and with the Node of the tests.
import { execFile } from "node:child_process";
import { access, chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const run = promisify(execFile);
const program = fileURLToPath(new URL("../../dist/bin/doorward.js", import.meta.url));
const major = (node: string): Promise<number> =>
  run(node, ["-p", "parseInt(process.versions.node)"]).then(({ stdout }) => Number(stdout));
const programs = new Set([process.execPath, process.env["TEST_NODE_22"] ?? process.execPath]);
const nodes = await Promise.all([...programs].map(async (path) => [await major(path), path]));

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "doorward-compiled-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Runs the program. @returns Whether the home has a folder of compiled code afterwards. */
async function storesCode(node: string, home: string): Promise<boolean> {
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder, SERVICE_HOME: home };
  const { stdout, stderr } = await run(node, [program, "version"], { env });
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(stderr).toBe("");
  return exists(join(home, "cache"));
}

describe.each(nodes)("compiled code of Node %i", (version, node) => {
  test("stays in a private home, if Node can store it", async () => {
    expect(await storesCode(String(node), folder)).toBe(Number(version) >= 22);
  });

  test.each([0o750, 0o702])("stays out of a home with mode %o", async (mode) => {
    await chmod(folder, mode);
    expect(await storesCode(String(node), folder)).toBe(false);
  });

  test("creates no home", async () => {
    const home = join(folder, "absent");
    expect(await storesCode(String(node), home)).toBe(false);
    expect(await exists(home)).toBe(false);
  });
});
