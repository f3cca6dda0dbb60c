import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type ChatStateChange } from "../../lib/pico-link/client.ts";
import type { Clock } from "../../lib/pico-link/index.ts";
import { createFaultProxy } from "../../testkit/index.ts";

/* Two processes of the built package are stopped, killed and suspended while they exchange
 * messages. */

const token = "correct-horse-battery-staple-correct-horse-battery-staple";
const session = "restarts";
const children: ChildProcessWithoutNullStreams[] = [];
let folder: string;
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), "doorward-restarts-"))));
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

interface Child extends AsyncDisposable {
  readonly child: ChildProcessWithoutNullStreams;
  readonly lines: readonly string[];
  hear(listen: (line: string) => void): void;
  /** Resolves when `holds` returns true. Rejects if the process exits before. */
  until(holds: () => boolean): Promise<void>;
  end(signal: NodeJS.Signals): Promise<void>;
}

function start(name: string, argument: object): Child {
  const file = fileURLToPath(new URL(`children/${name}.mjs`, import.meta.url));
  const child = spawn(process.execPath, [file, JSON.stringify(argument)]);
  children.push(child);
  const lines: string[] = [];
  const looks = new Set<() => void>();
  let err = "";
  child.stdin.on("error", () => undefined);
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    looks.forEach((look) => look());
  });
  const ended = once(child, "close");
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await ended;
  };
  return {
    child,
    lines,
    end,
    hear: (listen) => void looks.add(() => listen(lines.at(-1)!)),
    until: (holds) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!holds()) return;
          looks.delete(look);
          resolve();
        };
        looks.add(look);
        look();
        void ended.then(() =>
          reject(new Error(`${name} ended:\n${lines.slice(-20).join("\n")}\n${err}`)),
        );
      }),
    [Symbol.asyncDispose]: () => end("SIGKILL"),
  };
}

type ServerArgument = Readonly<Record<string, unknown>> & { readonly journal: string };

async function startServer(argument: ServerArgument): Promise<Child & { readonly port: number }> {
  const server = start("server", { token, session, ...argument });
  await server.until(() => server.lines.length > 0);
  return { ...server, port: Number(/listening (\d+)/.exec(server.lines[0]!)![1]) };
}

const urlOf = ({ port }: { readonly port: number }): string => `ws://127.0.0.1:${port}/pico`;

type News = readonly [what: string, ...more: unknown[]];

/** Starts a client and records its output. */
function startClient(argument: object) {
  const client = start("client", { token, session, ...argument });
  const news: News[] = [];
  const counts = { delivered: 0, isOpen: false };
  client.hear((line) => {
    const [what, more] = JSON.parse(line) as News;
    news.push(JSON.parse(line) as News);
    if (what === "delivered") counts.delivered += 1;
    if (what === "link") counts.isOpen = more === "open";
  });
  const heard = (n: number) =>
    client.until(() => news.findLast(([what]) => what === "heard")?.[1] === String(n));
  return {
    ...client,
    news,
    counts,
    heard,
    link: (isOpen: boolean) => client.until(() => counts.isOpen === isOpen),
  };
}

const contents = (news: readonly News[], what: string): number[] =>
  news.filter(([kind]) => kind === what).map(([, content]) => Number(content));
const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n + 1);

function createJournal(name: string) {
  const journal = join(folder, name);
  writeFileSync(journal, "");
  /** The received numbers of each server process. */
  const taken = (): number[][] =>
    readFileSync(journal, "utf8")
      .split("begin\n")
      .slice(1)
      .map((life) => [...life.matchAll(/^took (\d+)$/gm)].map(([, content]) => Number(content)));
  const said = (): number => readFileSync(journal, "utf8").match(/^said /gm)?.length ?? 0;
  return { journal, taken, said };
}

/** Polls, because other processes do not announce changes. */
async function eventually(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** Returns the sent numbers that the client neither received nor was notified about in a gap. */
function silentlyLost(news: readonly News[]): number[] {
  const lost: number[] = [];
  let last = 0;
  let isAnnounced = false;
  for (const [what, content] of news) {
    if (what === "gap") isAnnounced = true;
    if (what !== "heard") continue;
    if (!isAnnounced) for (let n = last + 1; n < Number(content); n++) lost.push(n);
    last = Number(content);
    isAnnounced = false;
  }
  return lost;
}

test("delivers 2,000 messages each way across restarts, kills and disconnects", async () => {
  const count = 2_000;
  const lives = 11;
  const { journal, taken, said } = createJournal("restarts");
  let server = await startServer({ journal, count });
  await using network = await createFaultProxy({ port: server.port });
  await using client = startClient({ url: urlOf(network), count });
  /** Waits until the connection is steady, so that the next backoff is short. */
  const talk = async (): Promise<void> => {
    await client.link(true);
    const before = said();
    await eventually(() => said() >= Math.min(count, before + 45));
  };
  let cuts = 0;
  for (let life = 0; life < lives - 1; life++) {
    for (let cut = 0; cut < 2; cut++) {
      await talk();
      network.cut();
      cuts += 1;
      await client.link(false);
    }
    await talk();
    await server.end(life % 2 === 0 ? "SIGTERM" : "SIGKILL");
    await client.link(false);
    server = await startServer({ journal, count });
    network.lead(server.port);
  }
  await using last = server;
  await eventually(() => said() === count);
  await client.until(() => client.counts.delivered === count && client.counts.isOpen);
  last.child.stdin.write(`${count + 1}\n`);
  await client.heard(count + 1);

  const all = client.news;
  const heard = contents(all, "heard");
  const ascending = (list: readonly number[]): number[] => [...new Set(list)].sort((a, b) => a - b);
  expect([cuts, taken().length, said()]).toEqual([20, lives, count]);
  expect(contents(all, "refused")).toEqual([]);
  expect(ascending(taken().flat())).toEqual(numbers(count));
  for (const life of taken()) expect(life).toEqual(ascending(life));
  expect(heard).toEqual(ascending(heard));
  expect(silentlyLost(all)).toEqual([]);
  expect(all.filter(([what]) => what === "gap").length).toBeLessThanOrEqual(lives - 1);
  console.log(
    JSON.stringify({
      taken: taken().flat().length,
      twice: taken().flat().length - count,
      heard: heard.length - 1,
      announced: count + 1 - heard.length,
      gaps: all.filter(([what]) => what === "gap").length,
    }),
  );
});

test("loses no messages while a client sleeps past the read timeout", async () => {
  const count = 200;
  const { journal, taken, said } = createJournal("sleep");
  const config = { read_timeout: 2, ping_interval: 1 };
  await using server = await startServer({ journal, count, everyMs: 20, config });
  await using network = await createFaultProxy({ port: server.port });
  await using client = startClient({ url: urlOf(network), count, everyMs: 20 });
  await client.until(() => client.news.some(([what]) => what === "heard"));
  client.child.kill("SIGSTOP");
  await server.until(() => server.lines.some((line) => line.startsWith("disconnected heartbeat")));
  client.child.kill("SIGCONT");
  await Promise.all([client.until(() => client.counts.delivered === count), client.heard(count)]);

  const all = client.news;
  expect(said()).toBe(count);
  expect(taken()).toEqual([numbers(count)]);
  expect(contents(all, "heard")).toEqual(numbers(count));
  expect(all.filter(([what]) => what === "gap")).toEqual([]);
});

const twofold: Clock = {
  now: () => Date.now() * 2,
  setTimeout: (run, ms) => setTimeout(run, ms / 2),
  clearTimeout: (id) => clearTimeout(id as NodeJS.Timeout),
};

/**
 * Restarts the server of 500 clients.
 *
 * @returns The wait of each client before its first attempt, and the number of reconnects per
 *   second (both by the clock of the clients).
 */
async function restart(
  signal: "SIGTERM" | "SIGKILL",
): Promise<{ delays: number[]; back: Map<number, number> }> {
  const many = 500;
  const { journal } = createJournal("many");
  const config = { max_connections: 2 * many };
  const first = await startServer({ journal, config });
  const changes: ChatStateChange[] = [];
  const backAt: number[] = [];
  let open = 0;
  const join = (n: number) =>
    connect({
      url: `ws://127.0.0.1:${first.port}/pico`,
      token,
      sessionId: `c${n}`,
      clock: twofold,
      onState(change) {
        changes.push(change);
        open += Number(change.to === "open") - Number(change.from === "open");
        if (change.to === "open") backAt.push(twofold.now());
      },
    });
  const clients: ReturnType<typeof join>[] = [];
  // Fifty in parallel, so that each first attempt succeeds. Clients with a failed attempt would
  // wait longer after the restart.
  while (clients.length < many) {
    clients.push(...numbers(50).map((n) => join(clients.length + n)));
    await eventually(() => open === clients.length);
  }
  backAt.length = 0;
  const before = changes.length;
  await first.end(signal);
  const endedAt = twofold.now();
  await using second = await startServer({ journal, config, port: first.port });
  await eventually(() => open === many);
  clients.forEach(({ close }) => close());

  expect(second.port).toBe(first.port);
  expect(backAt.length).toBe(many);
  const waits = changes
    .slice(before)
    .filter(({ to, attempt }) => to === "waiting" && attempt === 1);
  expect(waits.length).toBe(many);
  const back = new Map<number, number>();
  for (const at of backAt.sort((a, b) => a - b)) {
    const inSecond = Math.floor((at - endedAt) / 1_000);
    back.set(inSecond, (back.get(inSecond) ?? 0) + 1);
  }
  return { delays: waits.map(({ retryInMs }) => retryInMs!), back };
}

test("reconnects 500 clients after a kill with the configured jitter", async () => {
  const { delays, back } = await restart("SIGKILL");
  expect([Math.min(...delays) >= 500, Math.max(...delays) <= 1_000]).toEqual([true, true]);
  /** Reconnects per quarter of the interval: 125 expected, with a standard deviation of ten. */
  const quarters = [0, 1, 2, 3].map(
    (quarter) =>
      delays.filter((ms) => Math.min(3, Math.floor((ms - 500) / 125)) === quarter).length,
  );
  for (const size of quarters) expect(size).toSatisfy((n: number) => n >= 65 && n <= 185);
  console.log(JSON.stringify({ quarters, perSecond: [...back] }));
});

test("reconnects 500 clients after a stop at the requested times", async () => {
  const { delays, back } = await restart("SIGTERM");
  // The server asks each client to wait at least 1.5 s, at a rate of 300 clients per second.
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(1_500);
  expect(Math.max(...delays)).toBeLessThanOrEqual(1_500 + (500 / 300) * 1_000 + 1_000);
  console.log(
    JSON.stringify({ delays: [Math.min(...delays), Math.max(...delays)], perSecond: [...back] }),
  );
});
