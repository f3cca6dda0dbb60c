// Serves clients with two worker processes and a real Redis: loss of a worker, rotation, stop.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { connect } from "../../../lib/pico-link/client.ts";
import type { NodeView } from "../../../plugins/conversations/index.ts";
import { redisSecret } from "../../support/redis-nodes.ts";
import { hasRedis, startRedis } from "../../support/redis-server.ts";
import { freePort } from "../../e2e/free-port.ts";
import { spawnLauncher, startLauncher, type LauncherProcess } from "../../e2e/launcher.ts";

const launcherToken = "launcher-token-of-the-test-with-43-characters";
const picoToken = "correct-horse-battery-staple-correct-horse-battery-staple";
const args = ["-workers", "2", "-no-browser", "-port", "0"];

/** Creates a home for two workers that share a Redis server. */
async function makeHome(url: string) {
  const home = await mkdtemp(join(tmpdir(), "doorward-workers-"));
  const gateway = await freePort();
  const config = {
    channels: { pico: { enabled: true } },
    gateway: { port: gateway },
    store: { kind: "redis", url, node: "box" },
  };
  await writeFile(join(home, "config.json"), JSON.stringify(config), { mode: 0o600 });
  const security = `channels:\n  pico:\n    token: ${picoToken}\n`;
  await writeFile(join(home, ".security.yml"), security, { mode: 0o600 });
  const env = {
    SERVICE_HOME: home,
    SERVICE_STORE_SECRET: redisSecret,
    SERVICE_LAUNCHER_TOKEN: launcherToken,
  };
  return {
    home,
    env,
    gateway,
    channel: `ws://127.0.0.1:${gateway}/pico`,
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true }),
  };
}

/** @returns The process ids of the workers. */
async function workersOf({ child }: LauncherProcess): Promise<number[]> {
  const list = await promisify(execFile)("ps", ["-o", "pid=", "--ppid", String(child.pid)]);
  return list.stdout.trim().split(/\s+/).map(Number);
}

const authorization = `Bearer ${launcherToken}`;

async function nodesOf(base: URL): Promise<readonly NodeView[]> {
  const response = await fetch(new URL("/api/status", base), { headers: { authorization } });
  const { store } = (await response.json()) as { store: { nodes: NodeView[] } };
  return store.nodes;
}

/** Connects a client of its own session, and resolves when it can send. */
async function enter(url: string, session: string, token = picoToken) {
  const replies: string[] = [];
  const client = connect({
    url,
    token,
    sessionId: session,
    onMessage: ({ content }) => void replies.push(content),
  });
  await client.send(`hello ${session}`);
  return { client, replies, session };
}

const sessions = Array.from({ length: 8 }, (_, at) => `room-${at}`);
const seconds = 1_000;

describe.skipIf(!hasRedis)("doorward -workers 2", () => {
  test(
    "spreads clients, replaces a killed worker and stops in order",
    async () => {
      await using redis = await startRedis(["--appendonly", "yes"]);
      await using home = await makeHome(redis.url);
      await using launcher = await startLauncher({ args, env: home.env });
      expect(launcher.stdout()).toMatch(/Workers +2 processes/);
      const clients = await Promise.all(sessions.map((name) => enter(home.channel, name)));
      try {
        await vi.waitFor(async () => {
          const nodes = await nodesOf(launcher.base);
          expect(nodes.map(({ name }) => name)).toEqual(["box-1", "box-2"]);
          for (const node of nodes) expect(node.sessions).toBeGreaterThan(0);
        }, 20 * seconds);
        await expectNames(home.home, launcher.base);

        await using status = await spawnLauncher({ args: ["status"], env: home.env });
        expect(await status.ended).toEqual({ code: 0, signal: null });
        expect(status.stdout()).toMatch(
          /^Node +box-1: up, \d+ sessions?, these connections\nNode +box-2: up, \d+ sessions?$/m,
        );

        const [, second] = await workersOf(launcher);
        process.kill(second!, "SIGKILL");
        for (const { client, session } of clients) await client.send(`again ${session}`);
        await vi.waitFor(() => {
          for (const { replies, session } of clients) expect(replies).toContain(`again ${session}`);
        }, 20 * seconds);
        expect(launcher.stderr()).toContain("Worker 2 ended (SIGKILL). It starts again in 1 s.");
        await vi.waitFor(async () => {
          const nodes = await nodesOf(launcher.base);
          const up = nodes.filter(({ state }) => state === "up");
          expect(up.map(({ name }) => name)).toEqual(["box-1", "box-2"]);
        }, 20 * seconds);
        expect(new Set(await workersOf(launcher)).size).toBe(2);
      } finally {
        for (const { client } of clients) client.stop();
      }
      launcher.child.kill("SIGTERM");
      expect(await launcher.ended).toEqual({ code: 0, signal: null });
    },
    90 * seconds,
  );

  test(
    "unblocks addresses on all workers",
    async () => {
      await using redis = await startRedis(["--appendonly", "yes"]);
      await using home = await makeHome(redis.url);
      await using launcher = await startLauncher({ args, env: home.env });
      const url = home.channel.replace("ws", "http");
      const statuses = (token: (at: number) => string): Promise<number[]> =>
        Promise.all(
          Array.from({ length: 40 }, async (_, at) => {
            const headers = { authorization: `Bearer ${token(at)}`, connection: "close" };
            return (await fetch(url, { headers })).status;
          }),
        );
      // The connections alternate, so that both workers count more than ten wrong tokens.
      await statuses((at) => `wrong-${at}`);
      expect(new Set(await statuses(() => "wrong"))).toEqual(new Set([429]));
      await using command = await spawnLauncher({ args: ["unblock"], env: home.env });
      expect(await command.ended).toEqual({ code: 0, signal: null });
      expect(command.stderr()).toContain("This reached the launcher of this home and its workers.");
      await vi.waitFor(
        async () => expect(new Set(await statuses(() => "wrong"))).toEqual(new Set([401])),
        20 * seconds,
      );
      launcher.child.kill("SIGINT");
      expect(await launcher.ended).toEqual({ code: 0, signal: null });
    },
    60 * seconds,
  );

  test(
    "rotates the token of the channel on all workers",
    async () => {
      await using redis = await startRedis(["--appendonly", "yes"]);
      await using home = await makeHome(redis.url);
      await using launcher = await startLauncher({ args, env: home.env });
      const clients = await Promise.all(sessions.map((name) => enter(home.channel, name)));
      const rotation = ["token", "rotate", "pico"];
      await using command = await spawnLauncher({ args: rotation, env: home.env });
      expect(await command.ended).toEqual({ code: 0, signal: null });
      const token = command.stdout().trim();
      for (const { client } of clients) client.stop();
      // Enough connections to reach both workers, with either token.
      const status = async (value: string): Promise<number> =>
        (
          await fetch(home.channel.replace("ws", "http"), {
            headers: { authorization: `Bearer ${value}`, connection: "close" },
          })
        ).status;
      await vi.waitFor(async () => {
        const all = await Promise.all(sessions.flatMap(() => [status(token), status(picoToken)]));
        expect(new Set(all.filter((_, at) => at % 2 === 0))).toEqual(new Set([200]));
        expect(new Set(all.filter((_, at) => at % 2 === 1))).toEqual(new Set([401]));
      }, 20 * seconds);
      expect(await readFile(join(home.home, ".security.yml"), "utf8")).toContain(token);
      for (const name of ["launcher.log", "launcher-2.log"]) {
        const log = await readFile(join(home.home, "logs", name), "utf8");
        expect(log).not.toContain('"level":50');
        expect(log).not.toMatch(/"msg":"an edit replaced the pico token.*an edit replaced/s);
      }
      // A terminal signals all processes of its foreground.
      for (const pid of await workersOf(launcher)) process.kill(pid, "SIGINT");
      launcher.child.kill("SIGINT");
      expect(await launcher.ended).toEqual({ code: 0, signal: null });
      expect(launcher.stderr()).toBe("");
    },
    60 * seconds,
  );

  test(
    "ends all workers with the primary process",
    async () => {
      await using redis = await startRedis(["--appendonly", "yes"]);
      await using home = await makeHome(redis.url);
      await using launcher = await startLauncher({ args, env: home.env });
      const workers = await workersOf(launcher);
      launcher.child.kill("SIGKILL");
      await vi.waitFor(() => {
        for (const pid of workers) expect(() => process.kill(pid, 0)).toThrow();
      }, 20 * seconds);
      const log = await readFile(join(home.home, "logs", "launcher-2.log"), "utf8");
      expect(log).toContain("the primary process ended");
    },
    60 * seconds,
  );

  test(
    "does not start if one worker cannot start",
    async () => {
      await using redis = await startRedis(["--appendonly", "yes"]);
      await using home = await makeHome(redis.url);
      const port = await freePort();
      const taken = createServer().listen(port + 1, "127.0.0.1");
      try {
        const own = ["-workers", "2", "-no-browser", "-port", String(port)];
        await using launcher = await spawnLauncher({ args: own, env: home.env });
        expect(await launcher.ended).toEqual({ code: 1, signal: null });
        expect(launcher.stdout()).toBe("");
        expect(launcher.stderr().match(/^doorward: .*$/gm)).toHaveLength(1);
        expect(launcher.stderr()).toContain(`${port + 1}`);
      } finally {
        taken.close();
      }
    },
    60 * seconds,
  );
});

/** Log lines, log files and metrics tell the workers apart. */
async function expectNames(home: string, base: URL): Promise<void> {
  const lines = await readFile(join(home, "logs", "launcher-2.log"), "utf8");
  expect(lines).toContain('"worker":2');
  const dashboard = /"dashboard":"([^"]+)","msg":"worker started"/.exec(lines)![1]!;
  for (const [url, node] of [
    [base, "box-1"],
    [new URL(dashboard), "box-2"],
  ] as const) {
    const metrics = await fetch(new URL("/metrics", url), { headers: { authorization } });
    expect(await metrics.text()).toMatch(new RegExp(`doorward_info\\{.*node="${node}"`));
  }
}

describe("doorward -workers 2 without a shared store", () => {
  const refusal = async (config: object, ...more: string[]): Promise<string> => {
    const home = await mkdtemp(join(tmpdir(), "doorward-workers-"));
    try {
      await mkdir(home, { recursive: true });
      await writeFile(join(home, "config.json"), JSON.stringify(config), { mode: 0o600 });
      const env = { SERVICE_HOME: home };
      await using launcher = await spawnLauncher({ args: [...args, ...more], env });
      expect(await launcher.ended).toEqual({ code: 1, signal: null });
      expect(launcher.stdout()).toBe("");
      return launcher.stderr();
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  };

  test("names the settings of the store", async () => {
    expect(await refusal({})).toBe(
      'doorward: -workers 2 needs a store that the workers share. Set "store.kind" in ' +
        'config.json to "redis", with "store.url" and a secret (docs/scaling.md).\n',
    );
  });

  test("names the setting of the shared port", async () => {
    expect(await refusal({ store: { kind: "redis", url: "redis://127.0.0.1:1" } })).toBe(
      "doorward: -workers 2 needs a port for the channel that the workers share. Set " +
        '"gateway.port" in config.json, for example to 18801 (docs/scaling.md).\n',
    );
  });

  test("reads the number of workers from the file, below the environment", async () => {
    const home = await mkdtemp(join(tmpdir(), "doorward-workers-"));
    try {
      const start = (workers: unknown, env: Record<string, string> = {}) =>
        writeFile(join(home, "launcher-config.json"), JSON.stringify({ workers }), {
          mode: 0o600,
        }).then(() =>
          spawnLauncher({
            args: ["-no-browser", "-port", "0"],
            env: { SERVICE_HOME: home, ...env },
          }),
        );
      await using two = await start(2);
      expect(await two.ended).toEqual({ code: 1, signal: null });
      expect(two.stderr()).toMatch(/^doorward: -workers 2 needs a store/);
      await using three = await start(2, { SERVICE_WORKERS: "3" });
      expect(await three.ended).toEqual({ code: 1, signal: null });
      expect(three.stderr()).toMatch(/^doorward: -workers 3 needs a store/);
      await using wrong = await start("many");
      expect(await wrong.ended).toEqual({ code: 1, signal: null });
      expect(wrong.stderr()).toBe(
        'doorward: "workers" in launcher-config.json takes a whole number from 1 to 64.\n',
      );
      const env = { SERVICE_HOME: home, SERVICE_WORKERS: "1" };
      await writeFile(join(home, "launcher-config.json"), '{"workers":2}', { mode: 0o600 });
      await using one = await startLauncher({ args: ["-no-browser", "-port", "0"], env });
      one.child.kill("SIGINT");
      expect(await one.ended).toEqual({ code: 0, signal: null });
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });

  test("prints the reason of the first worker once", async () => {
    const store = { kind: "redis", url: "redis://127.0.0.1:1" };
    const text = await refusal({ store, gateway: { port: 0 } });
    expect(text).toMatch(/^doorward: The setting "store\.secret" is missing[^\n]*\n$/);
  });
});
