import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { rawPeer } from "../../security/peers.ts";
import { begun, bytesIn, closesOf, largeMessage, MiB } from "../../support/large-messages.ts";
import { fragmented, rawFrame } from "../../plugins/pico-server/raw-frames.ts";
import { startPicoServer, waitFor } from "../../support/pico-server-harness.ts";

/** Returns the bytes of buffers that are still referenced. */
function liveBufferBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().arrayBuffers;
}

describe("fragmented messages", () => {
  test.each([
    [64, 1],
    [256, 1],
    [64, 2],
    [256, 2],
  ] as const)("arrive with 4 MiB in fragments of %i bytes, opcode %i", async (size, opcode) => {
    const taken: number[] = [];
    await using testServer = await startPicoServer({
      app: ({ media }) => void taken.push(media[0]!.bytes!.byteLength),
    });
    const { socket, closed } = await rawPeer(testServer.port);
    const message = largeMessage(4 * MiB);
    socket.write(fragmented(message, size, opcode));
    await Promise.race([closed, waitFor(() => taken.length > 0)]);
    expect(closesOf(testServer)).toEqual([]);
    expect(taken[0]).toBeGreaterThan(3 * MiB - 1_000);
    socket.destroy();
  });

  test("arrive with 26 MiB in 131,072 fragments", async () => {
    const taken: string[] = [];
    await using testServer = await startPicoServer({ app: ({ id }) => void taken.push(id) });
    const { socket } = await rawPeer(testServer.port);
    socket.write(fragmented(largeMessage(26 * MiB), 208, 1));
    await waitFor(() => taken.length > 0 || closesOf(testServer).length > 0);
    expect(taken).toEqual(["large"]);
    socket.destroy();
  });

  test.each([
    ["one byte", 1],
    ["no bytes", 0],
  ])("close as too_big when endless, with %s each", async (_, size) => {
    await using testServer = await startPicoServer({ config: { max_payload: MiB } });
    const { socket, closed } = await rawPeer(testServer.port);
    const payload = new Uint8Array(size);
    socket.write(rawFrame({ opcode: 1, isFinal: false, payload }));
    const fragment = rawFrame({ opcode: 0, isFinal: false, payload });
    const flood = Buffer.concat(Array.from({ length: 10_000 }, () => fragment));
    for (let n = 0; n < 10; n++) socket.write(flood);
    expect((await closed).code).toBe(1009);
    await waitFor(() => closesOf(testServer).length > 0);
    expect(closesOf(testServer)).toEqual([[1009, "too_big"]]);
  });

  test("get no extra time for pings between the fragments", async () => {
    await using testServer = await startPicoServer();
    const other = await testServer.connect();
    const { socket } = await rawPeer(testServer.port);
    socket.write(rawFrame({ opcode: 1, isFinal: false, payload: Buffer.from("{") }));
    for (let second = 0; second < 70 && closesOf(testServer).length === 0; second++) {
      socket.write(rawFrame({ opcode: 9 }));
      await other.settled();
      await testServer.pass(1, () => other.settled());
    }
    await waitFor(() => closesOf(testServer).length > 0);
    expect(closesOf(testServer)).toEqual([[4408, "heartbeat"]]);
    socket.destroy();
  });
});

describe("control frames", () => {
  test("receive one pong each, in order", async () => {
    await using testServer = await startPicoServer();
    const peer = await testServer.connect();
    const pongs: string[] = [];
    peer.ws.on("pong", (payload) => void pongs.push(payload.toString("latin1")));
    const sent = Array.from({ length: 200 }, (_, n) => `${n}`.padEnd(n % 126, "\xff"));
    for (const text of sent) peer.ws.ping(Buffer.from(text.slice(0, 125), "latin1"));
    await waitFor(() => pongs.length === sent.length);
    expect(pongs).toEqual(sent.map((text) => text.slice(0, 125)));
  });

  test("close the connection as rate_limited beyond 1,000 per second", async () => {
    await using testServer = await startPicoServer();
    const { socket, closed } = await rawPeer(testServer.port);
    const ping = rawFrame({ opcode: 9 });
    socket.write(Buffer.concat(Array.from({ length: 1_000 }, () => ping)));
    const other = await testServer.connect();
    await other.settled();
    expect(closesOf(testServer)).toEqual([]);
    await testServer.pass(1, () => other.settled());
    socket.write(Buffer.concat(Array.from({ length: 1_001 }, () => ping)));
    await closed;
    await waitFor(() => closesOf(testServer).length > 0);
    expect(closesOf(testServer)).toEqual([[4429, "rate_limited; retry=5000"]]);
  });

  test("leave a single queued pong for a client that stops reading", async () => {
    await using testServer = await startPicoServer();
    const peer = await testServer.connect("/pico?session_id=s1");
    const pongs: string[] = [];
    peer.ws.on("pong", (payload) => void pongs.push(payload.toString()));
    peer.ws.pause();
    const other = await testServer.connect();
    await testServer.fill("s1", 512 * 1024);
    for (let n = 0; n < 100; n++) peer.ws.ping(`${n}`);
    await other.settled();
    peer.ws.resume();
    await waitFor(() => pongs.includes("99"));
    expect(pongs).toEqual(["99"]);
  });
});

describe("connections that are closing", () => {
  test("discard all further input of the client", async () => {
    await using testServer = await startPicoServer({ config: { max_payload: 64 * MiB } });
    const { socket, closed } = await rawPeer(testServer.port);
    const { id } = testServer.services.picoServer.connections()[0]!;
    testServer.services.picoServer.disconnect(id);
    const message = begun(60 * MiB);
    const bytesBefore = liveBufferBytes();
    let isClosed = false;
    socket.on("close", () => (isClosed = true)).write(message);
    // The server destroys the socket after one second. A loaded machine reads less until then.
    await waitFor(() => isClosed || bytesIn(testServer) > 50 * MiB);
    expect(liveBufferBytes() - bytesBefore).toBeLessThan(25 * MiB);
    await testServer.pass(2);
    expect((await closed).code).toBe(4403);
  });
});
