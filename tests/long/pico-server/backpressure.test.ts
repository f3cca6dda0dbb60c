import { describe, expect, test } from "vitest";
import type { Application } from "../../../plugins/channels/index.ts";
import { startPicoServer, waitFor } from "../../support/pico-server-harness.ts";
import { connectRaw, disconnected, masked } from "../../support/raw-web-socket.ts";

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

  const unlimited = { message_rate: 0, message_burst: 0 };
  const echo: Application = async (message) => {
    await message.reply({ content: message.content });
  };

  test("answers a burst of 4,000 messages to a client that reads", async () => {
    await using testServer = await startPicoServer({ app: echo, config: unlimited });
    const peer = await testServer.connect("/pico?pico_ext=1");
    const count = 4_000;
    for (let n = 0; n < count; n++)
      peer.send({ type: "message.send", id: `m${n}`, payload: { content: "x" } });
    await waitFor(
      () =>
        testServer.services.picoServer.status().connections === 0 ||
        peer.frames.filter(({ type }) => type === "message.create").length === count,
    );
    expect(testServer.services.picoServer.status()).toMatchObject({ connections: 1 });
  });

  test("reads no messages while their sender does not read the replies", async () => {
    await using testServer = await startPicoServer({ app: echo, config: unlimited });
    const { picoServer } = testServer.services;
    const peer = await connectRaw(testServer, "/pico?pico_ext=1");
    peer.pause();
    const count = 40_000;
    const content = "x".repeat(48);
    for (let n = 0; n < count; n++)
      peer.write(
        masked(0x81, JSON.stringify({ type: "message.send", id: `m${n}`, payload: { content } })),
      );
    const other = await testServer.connect();
    await waitFor(() => {
      const { queuedBytes } = picoServer.connections()[0]!;
      return queuedBytes > 256 * 1024 || picoServer.status().connections === 1;
    });
    await testServer.pass(20, () => other.settled());
    expect(picoServer.status()).toMatchObject({ connections: 2 });
    expect(picoServer.status().messagesIn).toBeLessThan(count);
    const type = '"type":"message.create"';
    let echoes = 0;
    let rest = "";
    peer.setEncoding("latin1").on("data", (part: string) => {
      const parts = (rest + part).split(type);
      echoes += parts.length - 1;
      rest = parts.at(-1)!.slice(1 - type.length);
    });
    peer.resume();
    await waitFor(() => echoes === count);
    peer.destroy();
  });

  test("closes only the slow client with 4410 when its queue is full", async () => {
    await using testServer = await startPicoServer();
    const stuck = await connectRaw(testServer, "/pico?session_id=s1");
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
      await connectRaw(testServer, "/pico?session_id=s1"),
      await testServer.connect(),
    ];
    stuck.pause();
    await testServer.fill("s1", 1_000_000, 500_000);
    await testServer.pass(8, () => other.settled()); // queued pings are not progress
    expect(await disconnected(testServer)).toMatchObject({ code: 4410, initiator: "server" });
    stuck.destroy();
  });
});
