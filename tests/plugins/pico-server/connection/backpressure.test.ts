import { connect, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import type { Application } from "../../../../plugins/channels/index.ts";
import {
  bearer,
  startPicoServer,
  waitFor,
  wsLines,
  type PicoTestServer,
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
async function bareClient(testServer: PicoTestServer, path = "/pico") {
  const socket = connect(testServer.port, "127.0.0.1").on("error", () => undefined);
  socket.write(
    [`GET ${path} HTTP/1.1`, "Host: localhost", ...wsLines, bearer, "", ""].join("\r\n"),
  );
  await read(socket, (bytes) => bytes.includes("\r\n\r\n"));
  return socket;
}

const disconnected = async (testServer: PicoTestServer) => {
  const { code, reason, initiator } = await testServer.fact("pico-server:disconnected");
  return { code, reason, initiator };
};

describe("backpressure", () => {
  test("pauses reading at 32 unaccepted messages and loses nothing", async () => {
    const taken: string[] = [];
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => void (release = resolve));
    const app: Application = async ({ id }) => {
      taken.push(id);
      await held;
    };
    await using testServer = await startPicoServer({ app });
    const [peer, other] = [await testServer.connect(), await testServer.connect()];
    const ids = Array.from({ length: 100 }, (_, n) => `m${n}`);
    for (const id of ids) peer.send({ type: "message.send", id, payload: { content: "x" } });
    await waitFor(() => testServer.services.picoServer.status().messagesIn === 32);
    await testServer.pass(150, () => other.settled());
    expect(testServer.services.picoServer.status()).toMatchObject({
      messagesIn: 32,
      connections: 2,
    });
    release();
    await waitFor(() => taken.length === 100);
    expect(taken).toEqual(ids);
    await peer.settled();
  });

  test("closes only the slow client with 4410 when its queue is full", async () => {
    await using testServer = await startPicoServer();
    const stuck = await bareClient(testServer, "/pico?session_id=s1");
    stuck.pause();
    const peer = await testServer.connect("/pico?session_id=s1");
    let sent = 0;
    while (
      !testServer.facts.some(({ type }) => type === "pico-server:disconnected") &&
      sent < 200
    ) {
      await testServer.say("s1", "x".repeat(500_000));
      sent += 1;
      expect((await peer.next()).type).toBe("message.create");
    }
    expect(await disconnected(testServer)).toEqual({
      code: 4410,
      reason: "slow_consumer",
      initiator: "server",
    });
    stuck.destroy();
  });

  test("closes with 4410 after write_timeout despite queued pings", async () => {
    await using testServer = await startPicoServer({
      config: { write_timeout: 5, read_timeout: 600, ping_interval: 1 },
    });
    const [stuck, other] = [
      await bareClient(testServer, "/pico?session_id=s1"),
      await testServer.connect(),
    ];
    stuck.pause();
    await testServer.fill("s1", 1_000_000, 500_000);
    await testServer.pass(8, () => other.settled()); // queued pings are not progress
    expect(await disconnected(testServer)).toMatchObject({ code: 4410, initiator: "server" });
    stuck.destroy();
  });
});
