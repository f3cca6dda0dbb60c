// Tests that clients cannot fill the memory of the built launcher, or keep its event loop busy.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { startLauncher, type RunningLauncher } from "../e2e/launcher.ts";

const token = "0123456789abcdef".repeat(4);
const connections = 400;
/**
 * Without a budget, these take 1.7 GB. Unread responses take 64 MiB, and answers in progress the
 * rest: 1,000 connections need no more than 400.
 */
const maxMiB = 600;

/** A program: a message names the length of its answer, which comes in parts of 400,000. */
const program = `
process.stdin.setEncoding("utf8");
let rest = "";
process.stdin.on("data", (text) => {
  const lines = (rest + text).split("\\n");
  rest = lines.pop();
  for (const line of lines) {
    const { type, id, payload } = JSON.parse(line);
    if (type !== "message.send") continue;
    const size = Number(payload.content) || 1;
    for (let left = size; left > 0; left -= 400_000)
      console.log(JSON.stringify({ type: "message.create", payload: {
        request_id: id, content: "x".repeat(Math.min(left, 400_000)), final: left <= 400_000 } }));
  }
});
`;

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

async function start(home: string, env: Readonly<Record<string, string>> = {}) {
  const path = join(home, "program.mjs");
  await writeFile(path, program);
  const channel = (name: string): object => ({
    [`SERVICE_CHANNELS_${name}_ENABLED`]: "true",
    [`SERVICE_CHANNELS_${name}_TOKEN`]: token,
  });
  await writeFile(
    join(home, "config.json"),
    JSON.stringify({ handler: { command: [process.execPath, path] } }),
    { mode: 0o600 },
  );
  return startLauncher({
    env: {
      SERVICE_HOME: home,
      SERVICE_LAUNCHER_TOKEN: token,
      ...channel("PICO"),
      ...channel("OPENAI"),
      ...channel("AI_SDK"),
      ...channel("AG_UI"),
      ...env,
    },
  });
}

const memoryOf = ({ child }: RunningLauncher) => {
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
  const read = (name: string): number =>
    Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)![1]) / 1_024;
  return { now: read("VmRSS"), most: read("VmHWM") };
};

async function open({ base }: RunningLauncher): Promise<Socket> {
  const socket = connect(Number(base.port), base.hostname);
  socket.on("error", () => undefined).pause();
  sockets.push(socket);
  await once(socket, "connect");
  return socket;
}

const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
const post = (path: string, body: object): string => {
  const text = JSON.stringify(body);
  const lines = [`POST ${path} HTTP/1.1`, "Host: localhost", `Content-Length: ${text.length}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  return `${lines.join("\r\n")}\r\n\r\n${text}`;
};
const get = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`;

const large = "4000000";
const question = { role: "user", content: large } as const;
const rest = { tools: [], context: [], state: {}, forwardedProps: {} };
const parts = [{ type: "text", text: large }];

const requests: Readonly<Record<string, (index: number) => string>> = {
  "GET /pico/history": () => get("/pico/history?session_id=s1&limit=200"),
  "POST /v1/chat/completions": () =>
    post("/v1/chat/completions", { model: "doorward", messages: [question] }),
  "POST /v1/responses with a stream": () =>
    post("/v1/responses", { model: "doorward", input: large, stream: true }),
  "POST /ai/chat": (index) =>
    post("/ai/chat", { id: `a${index}`, message: { id: "m1", role: "user", parts } }),
  "POST /ag-ui": (index) =>
    post("/ag-ui", {
      threadId: `g${index}`,
      runId: "r1",
      messages: [{ id: "q1", ...question }],
      ...rest,
    }),
  "POST /pico/messages with wait": (index) =>
    post("/pico/messages?wait=30", { session_id: `w${index}`, content: large }),
  "GET /pico/events": () =>
    get("/pico/events?session_id=s1").replace("\r\n\r\n", "\r\nLast-Event-ID: CURSOR\r\n\r\n"),
};

describe("connections that read nothing", () => {
  test.each(Object.entries(requests))("take limited memory: %s", async (_, request) => {
    const home = await mkdtemp(join(tmpdir(), "doorward-memory-"));
    try {
      await using launcher = await start(home);
      const { base } = launcher;
      const sent = await fetch(new URL("/pico/messages?wait=60", base), {
        method: "POST",
        headers,
        body: JSON.stringify({ session_id: "s1", content: large }),
      });
      const { cursor } = (await sent.json()) as { cursor: string };
      const before = memoryOf(launcher).now;
      const seen: Promise<unknown>[] = [];
      for (let index = 0; index < connections; index++) {
        const socket = await open(launcher);
        seen.push(Promise.race([once(socket, "readable"), once(socket, "close")]));
        socket.write(request(index).replace("CURSOR", `${cursor.split(":")[0]}:0`));
      }
      await Promise.all(seen);
      expect((await fetch(new URL("/healthz", base))).status).toBe(200);
      const { most } = memoryOf(launcher);
      expect(most - before).toBeLessThan(maxMiB);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });
});

/** Reports the longest turn of the event loop, in milliseconds of the processor, at SIGUSR2. */
const monitor = `
let last = process.cpuUsage();
let longest = 0;
setInterval(() => {
  const { user, system } = process.cpuUsage(last);
  last = process.cpuUsage();
  longest = Math.max(longest, (user + system) / 1000);
}, 1).unref();
process.on("SIGUSR2", () => {
  console.error("longest turn: " + longest.toFixed(1));
  longest = 0;
});
`;

describe("bodies in chunks of one byte", () => {
  const chunks = 5_000;
  const maxMs = 200;

  test.each(["/login", "/pico/messages"])(
    "do not keep the event loop busy: POST %s",
    async (path) => {
      const home = await mkdtemp(join(tmpdir(), "doorward-chunks-"));
      try {
        const preload = `data:text/javascript,${encodeURIComponent(monitor)}`;
        await using launcher = await start(home, { NODE_OPTIONS: `--import=${preload}` });
        const longest = async (): Promise<number> => {
          const before = launcher.stderr().length;
          launcher.child.kill("SIGUSR2");
          const read = () => /longest turn: ([\d.]+)/.exec(launcher.stderr().slice(before))?.[1];
          await expect.poll(read).toBeDefined();
          return Number(read());
        };
        await longest();
        const head =
          `POST ${path} HTTP/1.1\r\nHost: localhost\r\n` +
          "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
        const body = "1\r\na\r\n".repeat(chunks);
        const ends: Promise<unknown>[] = [];
        for (let index = 0; index < 200; index++) {
          const socket = await open(launcher);
          socket.resume();
          ends.push(once(socket, "close"));
          socket.write(head + body);
          socket.end("0\r\n\r\n");
        }
        await Promise.all(ends);
        const turn = await longest();
        expect(turn).toBeLessThan(maxMs);
      } finally {
        await rm(home, { recursive: true, force: true });
      }
    },
  );
});
