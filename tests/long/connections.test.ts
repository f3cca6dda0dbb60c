import { readdirSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { startLauncher } from "../e2e/launcher.ts";

const token = "0123456789abcdef".repeat(4);
const upgrade = (authorization: string) =>
  [
    "GET /pico HTTP/1.1",
    "Host: localhost",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    authorization,
    "",
    "",
  ].join("\r\n");

/** Ways in which a client connects and leaves; each resolves when its socket is closed. */
const visits: Readonly<Record<string, (url: URL) => Promise<void>>> = {
  "says something and goodbye": (url) =>
    new Promise((done, fail) => {
      const socket = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } });
      socket.on("open", () => socket.send('{"type":"message.send","payload":{"content":"hello"}}'));
      socket.on("message", () => socket.close(1000));
      socket.on("close", () => done());
      socket.on("error", fail);
    }),
  "is cut off": (url) =>
    new Promise((done, fail) => {
      const socket = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } });
      socket.on("open", () => socket.terminate());
      socket.on("close", () => done());
      socket.on("error", fail);
    }),
  "resets while it is let in": (url) =>
    new Promise((done) => {
      const socket = connect(Number(url.port), url.hostname, () =>
        socket.write(upgrade(`Authorization: Bearer ${token}`)),
      );
      socket.once("data", () => socket.resetAndDestroy());
      socket.on("error", () => undefined).on("close", () => done());
    }),
  "leaves in the middle of its request": (url) =>
    new Promise((done) => {
      const socket = connect(Number(url.port), url.hostname, () =>
        socket.end(upgrade("Authorization: Bearer").slice(0, 60)),
      );
      socket
        .resume()
        .on("error", () => undefined)
        .on("close", () => done());
    }),
  "has no token": (url) =>
    new Promise((done) => {
      const socket = connect(Number(url.port), url.hostname, () =>
        socket.write(upgrade("Accept: */*")),
      );
      socket
        .resume()
        .on("error", () => undefined)
        .on("close", () => done());
    }),
};

test("leaves no connections or open files after thousands of clients", async () => {
  const home = await mkdtemp(join(tmpdir(), "doorward-busy-"));
  try {
    const pico = { enabled: true, max_connections: 300 };
    await writeFile(join(home, "config.json"), JSON.stringify({ channels: { pico } }), {
      mode: 0o600,
    });
    await using launcher = await startLauncher({
      args: ["-console", "-no-browser", "-port", "0"],
      env: {
        SERVICE_HOME: home,
        SERVICE_CHANNELS_PICO_TOKEN: token,
        SERVICE_LAUNCHER_TOKEN: "a-token-of-the-owner",
      },
    });
    const url = new URL("/pico", launcher.base);
    const probe = async () => {
      const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
      return (await answer.json()) as { connections: number };
    };
    const openFiles = () => readdirSync(`/proc/${launcher.child.pid}/fd`).length;
    const ways = Object.values(visits);
    const wave = () =>
      Promise.all(Array.from({ length: 200 }, (_, at) => ways[at % ways.length]!(url)));
    const allGone = () =>
      vi.waitFor(async () => expect((await probe()).connections).toBe(0), {
        timeout: 60_000,
        interval: 50,
      });
    await wave();
    await allGone();
    const before = openFiles();
    for (let waves = 0; waves < 20; waves++) await wave();
    await allGone();
    await vi.waitFor(() => expect(openFiles()).toBeLessThanOrEqual(before + 2), {
      timeout: 60_000,
      interval: 50,
    });
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});
