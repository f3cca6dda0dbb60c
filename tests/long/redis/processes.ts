// Starts nodes and groups of Redis servers as processes.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startCutter } from "../../support/cutter.ts";
import { token } from "../../support/pico-server-harness.ts";
import { redisSecret } from "../../support/redis-nodes.ts";
import { askRedis, freePort, startRedis } from "../../support/redis-server.ts";

export interface NodeProcess {
  readonly port: number;
  /** Ids of the messages that its application received. */
  readonly received: string[];
  readonly child: ChildProcess;
  stop(): Promise<void>;
}

const run = promisify(execFile);
const script = fileURLToPath(new URL("../children/redis-node.mjs", import.meta.url));

/** @param delay - Milliseconds of each of the two steps of an answer. */
export async function startNode(url: string, prefix: string, delay = 0): Promise<NodeProcess> {
  const child = spawn(process.execPath, [script, url, prefix, redisSecret, token, `${delay}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const received: string[] = [];
  let rest = "";
  const port = await new Promise<number>((resolve, reject) => {
    let isFirst = true;
    child.on("exit", (code) => reject(new Error(`The node ended: ${code}`)));
    child.stdout.on("data", (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        if (isFirst) resolve(Number(line));
        else received.push(line);
        isFirst = false;
      }
    });
  });
  return {
    port,
    received,
    child,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, "exit");
      child.kill("SIGCONT");
      child.kill("SIGKILL");
      await exit;
    },
  };
}

/**
 * A master with replicas and one Sentinel that fails over after half a second. Replicas, Sentinel
 * and the nodes that ask it reach the master through `link`.
 *
 * @param options.preferred - Sentinel promotes the last replica if it can, whatever the replica has.
 */
export async function startSentinel(replicas: number, { preferred = false } = {}) {
  const fast = ["--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"];
  const master = await startRedis(fast);
  const link = await startCutter(master.url);
  const address = `127.0.0.1 ${new URL(link.base).port}`;
  const others = await Promise.all(
    Array.from({ length: replicas }, (_, at) => {
      const isFirst = preferred && at === replicas - 1;
      const priority = ["--replica-priority", isFirst ? "1" : "100"];
      return startRedis([...fast, ...priority, "--replicaof", address]);
    }),
  );
  const folder = await mkdtemp(join(tmpdir(), "doorward-sentinel-"));
  const port = await freePort();
  const file = join(folder, "sentinel.conf");
  await writeFile(
    file,
    [
      `port ${port}`,
      `dir ${folder}`,
      `sentinel monitor main ${address} 1`,
      "sentinel down-after-milliseconds main 500",
      "sentinel failover-timeout main 5000",
      "",
    ].join("\n"),
  );
  const child = spawn("redis-sentinel", [file], { stdio: "ignore" });
  const all = [master, ...others];
  const untilTrue = async (check: () => Promise<boolean>): Promise<void> => {
    while (!(await check().catch(() => false)))
      await new Promise((resolve) => setTimeout(resolve, 50));
  };
  await untilTrue(async () =>
    (await askRedis(master.port, "INFO replication")).includes(`connected_slaves:${replicas}`),
  );
  const ask = async (...words: string[]): Promise<string> =>
    (await run("redis-cli", ["-p", `${port}`, "SENTINEL", ...words, "main"])).stdout;
  await untilTrue(async () =>
    new RegExp(`^num-slaves\n${replicas}$`, "m").test(await ask("master")),
  );
  return {
    master,
    link,
    others,
    options: { sentinels: [`127.0.0.1:${port}`], name: "main" },
    /** Kills the master, waits for the new one, and makes the old one its replica. @returns The new one. */
    async replaceMaster() {
      await master.kill();
      const first = new URL(link.base).port;
      await untilTrue(async () => !(await ask("get-master-addr-by-name")).includes(`\n${first}\n`));
      const [, now] = (await ask("get-master-addr-by-name")).split("\n");
      await master.start();
      await master.ask(`REPLICAOF 127.0.0.1 ${now}`);
      return others.find((server) => server.port === Number(now))!;
    },
    async [Symbol.asyncDispose]() {
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
      for (const server of all) await server.stop();
      await link[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
