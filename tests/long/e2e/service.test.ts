// Runs the launcher as a service of a real systemd instance of this user. On a machine that systemd
// did not boot, root starts an instance in a mount namespace of its own.
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { withCommandLine } from "../../support/command-context.ts";

const booted = "/run/systemd/system";
const manager = "/lib/systemd/systemd";
let folder: string;
let instance: ChildProcess | undefined;
let env: Record<string, string>;
let isReachable = false;

const systemctl = (...words: string[]) =>
  spawnSync("systemctl", ["--user", ...words], { env, encoding: "utf8" });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "doorward-systemd-"));
  env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith("SERVICE_")),
  ) as Record<string, string>;
  if (!existsSync(booted) && existsSync(manager)) {
    const runtime = join(folder, "run");
    await mkdir(runtime, { mode: 0o700 });
    env = { ...env, HOME: folder, XDG_RUNTIME_DIR: runtime };
    // systemd starts only if this folder exists. Its sockets are outside of the namespace.
    const script = `mount -t tmpfs none /run && mkdir -p ${booted} && exec ${manager} --user`;
    instance = spawn("unshare", ["--mount", "sh", "-c", script], { env, stdio: "ignore" });
    instance.once("error", () => undefined);
    const hasEnded = (): boolean => instance?.exitCode !== null || instance.pid === undefined;
    await vi
      .waitFor(
        () => {
          const isUp = systemctl("show", "--property=Version").status === 0;
          if (!isUp && !hasEnded()) throw new Error("systemd is starting");
        },
        { timeout: 10_000, interval: 100 },
      )
      .catch(() => undefined);
  }
  isReachable = systemctl("show", "--property=Version").status === 0;
}, 20_000);

afterAll(async () => {
  if (instance?.pid !== undefined && instance.exitCode === null) {
    const ended = new Promise((done) => instance!.once("exit", done));
    instance.kill("SIGTERM");
    await ended;
  }
  await rm(folder, { recursive: true, force: true });
});

describe("doorward service under systemd", () => {
  test("starts, restarts and stops the launcher", { timeout: 40_000 }, ({ skip }) => {
    skip(!isReachable, "needs a systemd session of this user, or root without one");
    return withCommandLine(async (cli) => {
      await cli.write("launcher-config.json", { port: 0 });
      const shown = async (): Promise<string> => (await cli.run("service status")).out;
      const running = (): Promise<string> =>
        vi.waitFor(
          async () => {
            expect(await shown()).toMatch(/^Launcher +running/m);
            return (await cli.run("status -json")).json().startedAt as string;
          },
          { timeout: 15_000, interval: 100 },
        );
      try {
        expect(await cli.run("service install")).toMatchObject({ code: 0 });
        const first = await running();
        expect(await shown()).toMatch(/^State +active \(running\)/m);
        expect(await cli.run("service install")).toMatchObject({ code: 0 });
        expect(await running()).toBe(first);
        const file = (await cli.run("service status -json")).json().file as string;
        const name = file.split("/").at(-1)!;
        expect(systemctl("is-enabled", name).stdout.trim()).toBe("enabled");
        // The unit restarts a process that was killed.
        systemctl("kill", "--signal=KILL", name);
        await vi.waitFor(async () => expect(await running()).not.toBe(first), {
          timeout: 15_000,
          interval: 200,
        });
      } finally {
        await cli.run("service uninstall");
      }
      expect(await shown()).toBe("Service    not installed\nLauncher   not running\n");
    }, env);
  });
});
