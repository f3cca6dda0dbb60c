import { describe, expect, test } from "vitest";
import { rawPeer } from "../security/peers.ts";
import { begun, bytesIn, closesOf, largeMessage, MiB } from "../support/large-messages.ts";
import { startPicoServer, waitFor } from "../support/pico-server-harness.ts";
import { gate } from "../support/sample-channel.ts";

describe("memory budget of unfinished messages", () => {
  test("pauses unfinished messages beyond 256 MiB, then closes with try_later", async () => {
    await using testServer = await startPicoServer();
    const peers = await Promise.all(Array.from({ length: 20 }, () => rawPeer(testServer.port)));
    const message = begun(16 * MiB);
    for (const { socket } of peers) socket.write(message);
    await waitFor(() => bytesIn(testServer) > 200 * MiB);
    await testServer.pass(1);
    expect(closesOf(testServer)).toEqual([]);
    expect(bytesIn(testServer)).toBeLessThan(270 * MiB);
    await testServer.pass(8, () => new Promise((resolve) => setImmediate(resolve)));
    await waitFor(() => closesOf(testServer).length > 0);
    expect(closesOf(testServer)).toEqual([[1013, "try_later; retry=5000"]]);
    for (const { socket } of peers) socket.destroy();
    const isEmpty = (): boolean => testServer.services.picoServer.connections().length === 0;
    while (!isEmpty())
      await testServer.pass(1, () => new Promise((resolve) => setTimeout(resolve, 20)));
    const peer = await testServer.connect();
    peer.ws.send(largeMessage(4 * MiB));
    await peer.settled();
  });

  test("takes at most twice the budget in memory of the process", async () => {
    await using testServer = await startPicoServer();
    const peers = await Promise.all(Array.from({ length: 40 }, () => rawPeer(testServer.port)));
    const message = begun(16 * MiB - 64);
    const before = process.memoryUsage().rss;
    for (const { socket } of peers) socket.write(message);
    await waitFor(() => bytesIn(testServer) > 200 * MiB);
    let largest = 0;
    // Until the server reads no more.
    for (let seen = -1; seen !== bytesIn(testServer);) {
      seen = bytesIn(testServer);
      await new Promise((resolve) => setTimeout(resolve, 200));
      largest = Math.max(largest, process.memoryUsage().rss - before);
    }
    console.log(`256 MiB of unfinished messages took ${Math.round(largest / MiB)} MiB`);
    expect(largest).toBeLessThan(2 * 256 * MiB);
    for (const { socket } of peers) socket.destroy();
  });

  test("lets paused messages finish when the application has caught up", async () => {
    const { opened, open } = gate();
    const taken: number[] = [];
    await using testServer = await startPicoServer({
      app: async ({ media }) => {
        taken.push(media[0]!.bytes!.byteLength);
        await opened;
      },
    });
    const peers = await Promise.all(Array.from({ length: 20 }, () => testServer.connect()));
    const message = largeMessage(16 * MiB);
    for (const { ws } of peers) ws.send(message);
    await waitFor(() => bytesIn(testServer) > 200 * MiB);
    await testServer.pass(3, () => new Promise((resolve) => setImmediate(resolve)));
    expect(taken.length).toBeLessThan(20);
    expect(bytesIn(testServer)).toBeLessThan(350 * MiB);
    open();
    await waitFor(() => taken.length === 20);
    expect(closesOf(testServer)).toEqual([]);
  });

  test("releases unfinished messages when their connections close", async () => {
    await using testServer = await startPicoServer();
    for (let round = 0; round < 3; round++) {
      const peers = await Promise.all(Array.from({ length: 8 }, () => rawPeer(testServer.port)));
      const before = bytesIn(testServer);
      for (const { socket } of peers) socket.write(begun(14 * MiB));
      await waitFor(() => bytesIn(testServer) - before >= 8 * 14 * MiB);
      for (const { socket } of peers) socket.destroy();
      await waitFor(() => testServer.services.picoServer.connections().length === 0);
    }
    expect(closesOf(testServer).every(([code]) => code === 1006)).toBe(true);
  });
});
