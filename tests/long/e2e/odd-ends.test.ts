// Tests unusual ways in which the launcher stops.
import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, afterEach, expect, it, vi } from "vitest";
import { spawnLauncher, startLauncher } from "../../e2e/launcher.ts";
import { closeTerminal, python } from "../../e2e/terminal.ts";

const program = fileURLToPath(new URL("../../../dist/bin/doorward.js", import.meta.url));
const made: string[] = [];
afterEach(async () => {
  for (const folder of made.splice(0)) await rm(folder, { recursive: true, force: true });
});

/** Creates a home whose launcher loads a plugin with this `start`. */
async function homeWith(start: string): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "doorward-odd-"));
  made.push(home);
  await writeFile(
    join(home, "odd.mjs"),
    `export default { name: "odd", api: 1, start(scope) { ${start} } };`,
  );
  await writeFile(
    join(home, "config.json"),
    JSON.stringify({ plugins: [{ name: "./odd.mjs", required: true }] }),
  );
  return home;
}

describe("doorward", () => {
  it("continues when its output is closed", async () => {
    await using launcher = await spawnLauncher();
    launcher.child.stdout!.destroy();
    launcher.child.stderr!.destroy();
    const base = await vi.waitFor(async () => {
      const { addresses } = JSON.parse(
        await readFile(join(launcher.home, "run", "launcher.json"), "utf8"),
      );
      return addresses[0] as string;
    }, 30_000);
    await vi.waitFor(
      async () => expect((await fetch(new URL("/readyz", base))).status).toBe(200),
      20_000,
    );
    // The banner has been written by the time it says that it stops.
    launcher.child.kill("SIGHUP");
    expect(await launcher.ended).toEqual({ code: 0, signal: null });
  });

  it.skipIf(!existsSync("/dev/full"))(
    "reports a failed write, but not a reader that closed",
    async () => {
      const full = openSync("/dev/full", "w");
      const run = (stdout: number | "pipe"): Promise<[code: number | null, err: string]> =>
        new Promise((done) => {
          const child = spawn(process.execPath, [program, "token", "source", "-json"], {
            env: { SERVICE_HOME: "/nowhere" },
            stdio: ["ignore", stdout, "pipe"],
          });
          child.stdout?.destroy();
          let err = "";
          child.stderr!.on("data", (text) => void (err += String(text)));
          child.on("close", (code) => done([code, err]));
        });
      expect(await run(full)).toEqual([1, "doorward: cannot write to standard output (ENOSPC)\n"]);
      expect(await run("pipe")).toEqual([0, ""]);
      closeSync(full);
    },
  );

  it("exits with 0 if stopped during startup", async () => {
    const home = await homeWith(
      "scope.onReady(() => new Promise((done) => { console.log('at work'); setTimeout(done, 1_000); }));",
    );
    await using launcher = await spawnLauncher({ env: { SERVICE_HOME: home } });
    await vi.waitFor(() => expect(launcher.stdout()).toContain("at work"), 30_000);
    launcher.child.kill("SIGTERM");
    expect(await launcher.ended).toEqual({ code: 0, signal: null });
    expect(launcher.stderr()).not.toContain("doorward:");
  });

  it.skipIf(!python)("stops cleanly when its terminal closes", async () => {
    const home = await homeWith(
      "scope.onStop(() => new Promise((done) => setTimeout(done, 500)));",
    );
    const log = join(home, "logs", "launcher.log");
    const command = [process.execPath, program, "-console", "-no-browser", "-port", "0"];
    expect(await closeTerminal(`Files      ${home}`, log, command, { SERVICE_HOME: home })).toBe(0);
    await expect(readFile(join(home, "run", "launcher.json"))).rejects.toThrow("ENOENT");
  });

  it("logs an uncaught error, stops and exits with 1", async () => {
    const home = await homeWith(
      "setInterval(() => {}, 60_000); process.once('SIGUSR2', () => Promise.reject(new Error('of another process')));",
    );
    await using launcher = await startLauncher({ env: { SERVICE_HOME: home } });
    launcher.child.kill("SIGUSR2");
    expect(await launcher.ended).toEqual({ code: 1, signal: null });
    expect(await readFile(join(home, "logs", "launcher.log"), "utf8")).toContain(
      "of another process",
    );
    await expect(readFile(join(home, "run", "launcher.json"))).rejects.toThrow("ENOENT");
  });
});
