// Tests shutdown with many connected clients.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { startLauncher } from "../../e2e/launcher.ts";

const token = "drain-token-0123456789-abcdef-0123456789-abcdef";
const clients = 300;
const rate = 150;
/** In milliseconds. */
const rounding = 5;

interface End {
  readonly at: number;
  readonly code: number;
  readonly reason: string;
}

const launcher = (settings: Record<string, string>) =>
  startLauncher({
    env: {
      SERVICE_LAUNCHER_TOKEN: `launcher-${token}`,
      SERVICE_CHANNELS_PICO_TOKEN: token,
      SERVICE_CHANNELS_PICO_ENABLED: "true",
      SERVICE_CHANNELS_PICO_MAX_CONNECTIONS: "400",
      ...settings,
    },
  });

async function connect(base: URL): Promise<WebSocket> {
  const socket = new WebSocket(new URL("/pico", base.href.replace("http", "ws")), [
    `token.${token}`,
  ]);
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
    socket.once("close", (code, reason) =>
      done({ at: performance.now(), code, reason: reason.toString() }),
    );
  });

describe("SIGTERM with many clients", () => {
  it("spreads reconnects at the configured rate and exits in time", async () => {
    await using running = await launcher({ SERVICE_CHANNELS_PICO_RECONNECT_RATE: String(rate) });
    const { base, child, home } = running;
    const ends = (await crowd(base)).map(endOf);

    const startedAt = performance.now();
    child.kill("SIGTERM");
    const all = await Promise.all(ends);
    expect(await running.ended).toEqual({ code: 0, signal: null });
    expect(performance.now() - startedAt).toBeLessThan(6_800 + 10_000); // its own bound, and a slow machine
    expect(new Set(all.map(({ code }) => code))).toEqual(new Set([1001]));
    // When all have gone and the next process has started, one after the other: late on a slow machine, never early.
    const back = all.map(
      ({ at, reason }) => at + Number(/^going_away; retry=(\d+)$/.exec(reason)![1]),
    );
    const first = startedAt + (clients / rate) * 1_000 + 1_500;
    const early = back
      .sort((a, b) => a - b)
      .filter((at, number) => at < first + (number / rate) * 1_000 - rounding);
    expect(early).toEqual([]);
    const log = await readFile(join(home, "logs", "launcher.log"), "utf8");
    expect(log).toContain(`"connections":${clients}`);
  });

  it("rejects new clients while draining and exits at the second signal", async () => {
    await using running = await launcher({
      SERVICE_CHANNELS_PICO_RECONNECT_RATE: "1",
      SERVICE_CHANNELS_PICO_DRAIN_TIMEOUT: "300",
    });
    const { base, child } = running;
    expect((await fetch(new URL("/readyz", base))).status).toBe(200);
    // A minute's work.
    const sockets = await Promise.all(Array.from({ length: 60 }, () => connect(base)));
    for (const socket of sockets) socket.on("error", () => undefined);
    const first = Promise.race(sockets.map(endOf));
    child.kill("SIGTERM");
    expect((await first).code).toBe(1001);
    const ready = await fetch(new URL("/readyz", base));
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ error: "unavailable", state: "stopping" });
    await expect(connect(base)).rejects.toThrow("503");
    child.kill("SIGTERM");
    expect((await running.ended).code).toBe(1);
  });
});
