import { describe, expect, test } from "vitest";
import { fetchJson, startPicoServer, waitFor } from "../../../support/pico-server-harness.ts";
import { connectRaw, disconnected, masked } from "../../../support/raw-web-socket.ts";

describe("liveness", () => {
  test("pings every ping_interval and keeps a client that responds", async () => {
    await using testServer = await startPicoServer();
    const [peer, other] = [await testServer.connect(), await testServer.connect()];
    await testServer.pass(29);
    await other.settled();
    expect(peer.pings()).toBe(0);
    for (let round = 1; round <= 6; round++) {
      await testServer.pass(round === 1 ? 1 : 30);
      await waitFor(() => peer.pings() === round);
      await waitFor(
        () =>
          testServer.services.picoServer.connections()[0]!.lastHeardAt === testServer.clock.now(),
      );
      await other.settled();
    }
    await peer.settled();
  });

  test("keeps a client that responds with the shortest read_timeout", async () => {
    await using testServer = await startPicoServer({ config: { read_timeout: 1 } });
    const [peer, other] = [await testServer.connect(), await testServer.connect()];
    for (let round = 1; round <= 10; round++) {
      for (const ms of [250, 250]) {
        await other.settled();
        testServer.clock.increment(ms);
      }
      await waitFor(() => peer.pings() >= round);
      await other.settled();
    }
    await peer.settled();
  });

  test("closes a client silent for read_timeout with 4408 heartbeat", async () => {
    await using testServer = await startPicoServer();
    const peer = await testServer.connect("/pico", { autoPong: false });
    await testServer.pass(59);
    expect(testServer.services.picoServer.status().connections).toBe(1);
    await testServer.pass(1);
    expect(await peer.closed).toEqual({ code: 4408, reason: "heartbeat" });
    expect(await disconnected(testServer)).toEqual({
      code: 4408,
      reason: "heartbeat",
      initiator: "server",
    });
  });

  test("keeps a client whose frame arrives byte by byte", async () => {
    await using testServer = await startPicoServer();
    const slow = await connectRaw(testServer);
    const other = await testServer.connect();
    await testServer.pass(50, () => other.settled());
    for (const byte of masked(0x81, "{}")) {
      slow.write(Buffer.from([byte]));
      await other.settled();
      await testServer.pass(6, () => other.settled());
    }
    expect(testServer.facts.filter(({ type }) => type === "pico-server:disconnected")).toEqual([]);
    slow.destroy();
  });

  test("closes with 4408 heartbeat when a frame arrives too slowly", async () => {
    await using testServer = await startPicoServer();
    const slow = await connectRaw(testServer);
    const other = await testServer.connect();
    const start = testServer.clock.now();
    for (const byte of masked(0x81, "x".repeat(100))) {
      if (testServer.facts.some(({ type }) => type === "pico-server:disconnected")) break;
      slow.write(Buffer.from([byte]));
      await other.settled();
      await testServer.pass(2, () => other.settled());
    }
    expect(await disconnected(testServer)).toEqual({
      code: 4408,
      reason: "heartbeat",
      initiator: "server",
    });
    expect(testServer.clock.now() - start).toBeGreaterThan(60_000);
    slow.destroy();
  });

  test("closes no client right after a suspension", async () => {
    await using testServer = await startPicoServer();
    const peer = await testServer.connect("/pico", { autoPong: false });
    testServer.clock.increment(600_000);
    await peer.settled();
  });

  test("pings and closes lost clients after the clock moved back", async () => {
    await using testServer = await startPicoServer();
    const [peer, other] = [
      await testServer.connect("/pico", { autoPong: false }),
      await testServer.connect(),
    ];
    testServer.setBack(86_400_000);
    await testServer.pass(33, () => other.settled());
    await waitFor(() => peer.pings() === 1);
    await testServer.pass(33, () => other.settled());
    expect(await peer.closed).toEqual({ code: 4408, reason: "heartbeat" });
    await other.settled();
  });

  test("keeps connected clients after the clock moved forward", async () => {
    await using testServer = await startPicoServer();
    const [peer, other] = [
      await testServer.connect("/pico", { autoPong: false }),
      await testServer.connect(),
    ];
    testServer.clock.set(testServer.clock.now() + 86_400_000);
    await testServer.pass(65, () => other.settled());
    expect(await peer.closed).toEqual({ code: 4408, reason: "heartbeat" });
    await other.settled();
  });

  test("uses the default for zero and negative intervals", async () => {
    await using testServer = await startPicoServer({
      config: { ping_interval: 0, read_timeout: -5 },
    });
    expect((await fetchJson(testServer.port, "/pico")).body["limits"]).toMatchObject({
      ping_interval: 30,
      read_timeout: 60,
    });
  });

  test("warns if ping_interval is not below read_timeout", async () => {
    await using testServer = await startPicoServer({
      config: { ping_interval: 60, read_timeout: 20 },
    });
    expect(
      testServer.lines.some(
        ({ level, text }) => level === "warn" && text.includes("ping_interval"),
      ),
    ).toBe(true);
    const peer = await testServer.connect();
    await testServer.pass(10);
    await waitFor(() => peer.pings() === 1);
  });
});
