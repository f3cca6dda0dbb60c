import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { startLauncher } from "./launcher.ts";

const token = "drain-token-0123456789-abcdef-0123456789-abcdef";
const clients = 300;
const rate = 150;

interface End {
  readonly at: number;
  readonly code: number;
  readonly reason: string;
}

const launcher = (settings: Record<string, string>) =>
  startLauncher({
    env: {
      SERVICE_LAUNCHER_TOKEN: `launcher-${token}`, SERVICE_CHANNELS_PICO_TOKEN: token,
      SERVICE_CHANNELS_PICO_ENABLED: "true", SERVICE_CHANNELS_PICO_MAX_CONNECTIONS: "400", ...settings,
    },
  });

async function connect(base: URL): Promise<WebSocket> {
  const socket = new WebSocket(new URL("/pico", base.href.replace("http", "ws")), [`token.${token}`]);
  await new Promise((open, failed) => socket.once("open", open).once("error", failed));
  return socket;
}

async function crowd(base: URL): Promise<WebSocket[]> {
  const sockets: WebSocket[] = [];
  while (sockets.length < clients) {
    sockets.push(...(await Promise.all(Array.from({ length: 50 }, () => connect(base)))));
  }
  return sockets;
}

const endOf = (socket: WebSocket): Promise<End> =>
  new Promise((done) => {
    socket.once("close", (code, reason) => done({ at: performance.now(), code, reason: reason.toString() }));
  });

describe("SIGTERM with many clients", () => {
  it("is ready no more at once, closes each client in its turn, and ends in time", async () => {
    await using running = await launcher({ SERVICE_CHANNELS_PICO_RECONNECT_RATE: String(rate) });
    const { base, child, home } = running;
    const ends = (await crowd(base)).map(endOf);
    let closed = 0;
    for (const end of ends) void end.then(() => (closed += 1));
    expect((await fetch(new URL("/readyz", base))).status).toBe(200);

    const startedAt = performance.now();
    child.kill("SIGTERM");
    const firstEnd = Promise.race(ends);
    await firstEnd;
    const ready = await fetch(new URL("/readyz", base));
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ error: "unavailable", state: "stopping" });
    expect(closed).toBeLessThan(clients);
    await expect(connect(base)).rejects.toThrow("503");

    const all = await Promise.all(ends);
    expect(await running.ended).toEqual({ code: 0, signal: null });
    expect(performance.now() - startedAt).toBeLessThan(6_800 + 3_000); // its own bound, and a slow machine
    expect(new Set(all.map(({ code }) => code))).toEqual(new Set([1001]));
    const back = all.map(({ at, reason }) => at + Number(/^going_away; retry=(\d+)$/.exec(reason)![1]));
    const from = Math.min(...back);
    const perSecond = new Map<number, number>();
    for (const at of back) {
      const second = Math.floor((at - from) / 1_000);
      perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
    }
    // Lateness of this machine moves some of them into another second.
    expect(Math.max(...perSecond.values())).toBeLessThan(rate * 1.6);
    expect(perSecond.size).toBeGreaterThanOrEqual(2);
    const log = await readFile(join(home, "logs", "launcher.log"), "utf8");
    expect(log).toContain(`"connections":${clients}`);
  });

  it("ends at once at the second signal", async () => {
    await using running = await launcher({
      SERVICE_CHANNELS_PICO_RECONNECT_RATE: "1", SERVICE_CHANNELS_PICO_DRAIN_TIMEOUT: "300",
    });
    const sockets = await Promise.all([1, 2, 3, 4].map(() => connect(running.base)));
    for (const socket of sockets) socket.on("error", () => undefined);
    const first = Promise.race(sockets.map(endOf));
    running.child.kill("SIGTERM");
    expect((await first).code).toBe(1001);
    running.child.kill("SIGTERM");
    expect((await running.ended).code).toBe(1);
  });
});
