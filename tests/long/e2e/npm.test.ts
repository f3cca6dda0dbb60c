// Tests that the launcher stops when npm, which started it, is stopped or killed.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { isAlive } from "../../../lib/files/index.ts";
import { root } from "../../rules/source.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const launcher = join(root, "dist", "bin", "doorward.js");
const options = "-console -no-browser -port 0";

/** Runs npm in a project that has the launcher as the command `doorward` and as the script `start`. */
async function startByNpm(...words: string[]) {
  const project = await mkdtemp(join(tmpdir(), "doorward-npm-"));
  cleanups.push(() => rm(project, { recursive: true, force: true }));
  const home = join(project, "home");
  await mkdir(join(project, "node_modules", ".bin"), { recursive: true });
  await symlink(launcher, join(project, "node_modules", ".bin", "doorward"));
  const manifest = { private: true, scripts: { start: `node ${launcher} ${options}` } };
  await writeFile(join(project, "package.json"), JSON.stringify(manifest));
  const npm = spawn("npm", words, {
    cwd: project,
    env: { PATH: process.env["PATH"], HOME: project, SERVICE_HOME: home },
    stdio: ["ignore", "pipe", "ignore"],
  });
  cleanups.push(() => npm.kill("SIGKILL"));
  let output = "";
  for await (const text of npm.stdout.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
    output += text as string;
    if (/^ {2}Files .*\n\n/m.test(output)) break;
  }
  npm.stdout.resume();
  const port = Number(/http:\/\/[\d.]+:(\d+)\//.exec(output)?.[1]);
  const { pid } = JSON.parse(await readFile(join(home, "run", "launcher.json"), "utf8")) as {
    pid: number;
  };
  cleanups.push(() => isAlive(pid) && process.kill(pid, "SIGKILL"));
  const log = (): Promise<string> => readFile(join(home, "logs", "launcher.log"), "utf8");
  return { npm, port, log };
}

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });

describe("doorward started by npm", () => {
  test.each([
    ["npm start", "SIGTERM", ["start"]],
    ["npm start", "SIGKILL", ["start"]],
    ["npx doorward", "SIGTERM", ["exec", "--offline", "--", "doorward", ...options.split(" ")]],
  ] as const)("stops after %s received %s", async (_, signal, words) => {
    const { npm, port, log } = await startByNpm(...words);
    expect(await isOpen(port)).toBe(true);
    npm.kill(signal);
    if (npm.exitCode === null && npm.signalCode === null) await once(npm, "exit");
    await expect.poll(() => isOpen(port), { timeout: 10_000 }).toBe(false);
    await expect.poll(log, { timeout: 10_000 }).toMatch(/"signal":"npm ended".*"stopping"/);
  });
});
