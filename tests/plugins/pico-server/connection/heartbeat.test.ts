import { connect, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import {
  ask,
  bearer,
  stand,
  until,
  wsLines,
  type Stand,
} from "../../../support/pico-server-harness.ts";

/** Reads until the received bytes are complete. */
function read(socket: Socket, isWhole: (bytes: Buffer) => boolean): Promise<Buffer> {
  return new Promise((done) => {
    let bytes = Buffer.alloc(0);
    const onData = (piece: Buffer): void => {
      bytes = Buffer.concat([bytes, piece]);
      if (!isWhole(bytes)) return;
      socket.off("data", onData);
      done(bytes);
    };
    socket.on("data", onData);
  });
}

/** A raw TCP client after its handshake. It reads only while a test calls `read`. */
async function bareClient(door: Stand, path = "/pico") {
  const socket = connect(door.port, "127.0.0.1").on("error", () => undefined);
  socket.write(
    [`GET ${path} HTTP/1.1`, "Host: localhost", ...wsLines, bearer, "", ""].join("\r\n"),
  );
  await read(socket, (bytes) => bytes.includes("\r\n\r\n"));
  return socket;
}

/** A client frame with a zero mask. */
const masked = (first: number, payload: string | Buffer): Buffer => {
  const bytes = Buffer.from(payload);
  return Buffer.concat([Buffer.from([first, 0x80 | bytes.length, 0, 0, 0, 0]), bytes]);
};

const disconnected = async (door: Stand) => {
  const { code, reason, initiator } = await door.fact("pico-server:disconnected");
  return { code, reason, initiator };
};

describe("liveness", () => {
  test("pings every ping_interval and keeps a client that responds", async () => {
    await using door = await stand();
    const [peer, other] = [await door.connect(), await door.connect()];
    await door.pass(29);
    await other.settled();
    expect(peer.pings()).toBe(0);
    for (let round = 1; round <= 6; round++) {
      await door.pass(round === 1 ? 1 : 30);
      await until(() => peer.pings() === round);
      await until(
        () => door.services.picoServer.connections()[0]!.lastHeardAt === door.clock.now(),
      );
      await other.settled();
    }
    await peer.settled();
  });

  test("closes a client silent for read_timeout with 4408 heartbeat", async () => {
    await using door = await stand();
    const peer = await door.connect("/pico", { autoPong: false });
    await door.pass(59);
    expect(door.services.picoServer.status().connections).toBe(1);
    await door.pass(1);
    expect(await peer.closed).toEqual({ code: 4408, reason: "heartbeat" });
    expect(await disconnected(door)).toEqual({
      code: 4408,
      reason: "heartbeat",
      initiator: "server",
    });
  });

  test("keeps a client whose frame arrives byte by byte", async () => {
    await using door = await stand();
    const slow = await bareClient(door);
    const other = await door.connect();
    await door.pass(50, () => other.settled());
    for (const byte of masked(0x81, "{}")) {
      slow.write(Buffer.from([byte]));
      await other.settled();
      await door.pass(6, () => other.settled());
    }
    expect(door.facts.filter(({ type }) => type === "pico-server:disconnected")).toEqual([]);
    slow.destroy();
  });

  test("closes with 4408 heartbeat when a frame arrives too slowly", async () => {
    await using door = await stand();
    const slow = await bareClient(door);
    const other = await door.connect();
    const start = door.clock.now();
    for (const byte of masked(0x81, "x".repeat(100))) {
      if (door.facts.some(({ type }) => type === "pico-server:disconnected")) break;
      slow.write(Buffer.from([byte]));
      await other.settled();
      await door.pass(2, () => other.settled());
    }
    expect(await disconnected(door)).toEqual({
      code: 4408,
      reason: "heartbeat",
      initiator: "server",
    });
    expect(door.clock.now() - start).toBeGreaterThan(60_000);
    slow.destroy();
  });

  test("closes no client right after a suspension", async () => {
    await using door = await stand();
    const peer = await door.connect("/pico", { autoPong: false });
    door.clock.increment(600_000);
    await peer.settled();
  });

  test("pings and closes lost clients after the clock moved back", async () => {
    await using door = await stand();
    const [peer, other] = [await door.connect("/pico", { autoPong: false }), await door.connect()];
    door.setBack(86_400_000);
    await door.pass(33, () => other.settled());
    await until(() => peer.pings() === 1);
    await door.pass(33, () => other.settled());
    expect(await peer.closed).toEqual({ code: 4408, reason: "heartbeat" });
    await other.settled();
  });

  test("keeps connected clients after the clock moved forward", async () => {
    await using door = await stand();
    const [peer, other] = [await door.connect("/pico", { autoPong: false }), await door.connect()];
    door.clock.set(door.clock.now() + 86_400_000);
    await door.pass(65, () => other.settled());
    expect(await peer.closed).toEqual({ code: 4408, reason: "heartbeat" });
    await other.settled();
  });

  test("uses the default for zero and negative intervals", async () => {
    await using door = await stand({ config: { ping_interval: 0, read_timeout: -5 } });
    expect((await ask(door.port, "/pico")).body["limits"]).toMatchObject({
      ping_interval: 30,
      read_timeout: 60,
    });
  });

  test("warns if ping_interval is not below read_timeout", async () => {
    await using door = await stand({ config: { ping_interval: 60, read_timeout: 20 } });
    expect(
      door.lines.some(({ level, text }) => level === "warn" && text.includes("ping_interval")),
    ).toBe(true);
    const peer = await door.connect();
    await door.pass(10);
    await until(() => peer.pings() === 1);
  });
});
