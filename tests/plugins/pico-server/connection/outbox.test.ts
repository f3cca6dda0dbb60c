import { describe, expect, test } from "vitest";
import {
  startPicoServer,
  waitFor,
  type Client,
  type Frame,
  type PicoTestServer,
} from "../../../support/pico-server-harness.ts";

const to = { channel: "pico", session: "s1" };

/** A client that does not read, with a full socket, so that further frames wait in the queue. */
async function connectStuck(testServer: PicoTestServer, query = "") {
  const peer = await testServer.connect(`/pico?session_id=s1${query}`);
  peer.ws.pause();
  const filled = await testServer.fill("s1", 256 * 1024);
  return {
    peer,
    filled,
    waiting: () => testServer.services.picoServer.connections()[0]!.queuedBytes,
  };
}
const readQueued = async (peer: Client, filled: number, last: string): Promise<Frame[]> => {
  peer.ws.resume();
  await waitFor(() => peer.frames.some(({ payload }) => payload?.content === last));
  return peer.frames.filter(({ type }) => type !== "hello").slice(filled);
};

describe("Outbox of a client that does not read", () => {
  test("queues only the latest update of each message", async () => {
    await using testServer = await startPicoServer();
    const { peer, filled, waiting } = await connectStuck(testServer);
    const { channels } = testServer.services;
    const [one, two] = [
      await channels.send(to, { content: "1" }),
      await channels.send(to, { content: "2" }),
    ];
    for (let n = 1; n <= 5_000; n++) await channels.update(to, one.id, { content: `1, ${n}` });
    await channels.update(to, two.id, { content: "2, 1" });
    expect(waiting()).toBeLessThan(1024 * 1024);
    await testServer.say("s1", "last");
    const frames = await readQueued(peer, filled, "last");
    expect(frames.map(({ payload }) => payload?.content)).toEqual([
      "1",
      "2",
      "1, 5000",
      "2, 1",
      "last",
    ]);
  });

  test.each(["", "&pico_ext=1"])(
    "drops updates of final messages, keeps finals and deletes (%s)",
    async (query) => {
      await using testServer = await startPicoServer();
      const { peer, filled } = await connectStuck(testServer, query);
      const { channels } = testServer.services;
      const [one, two] = [
        await channels.send(to, { content: "1" }),
        await channels.send(to, { content: "2" }),
      ];
      for (const { id } of [one, two]) await channels.update(to, id, { content: "on the way" });
      await channels.update(to, one.id, { content: "1, whole", final: true });
      await channels.remove(to, two.id);
      await testServer.say("s1", "last");
      const frames = await readQueued(peer, filled, "last");
      expect(frames.map(({ type, payload }) => [type, payload?.content])).toEqual([
        ["message.create", "1"],
        ["message.create", "2"],
        ["message.update", "1, whole"],
        ["message.delete", undefined],
        ["message.create", "last"],
      ]);
    },
  );

  test("queues only the latest typing state", async () => {
    await using testServer = await startPicoServer();
    const { peer, filled } = await connectStuck(testServer);
    for (let n = 0; n < 3_000; n++) testServer.services.channels.typing(to, n % 2 === 0);
    await testServer.say("s1", "last");
    expect((await readQueued(peer, filled, "last")).map(({ type }) => type)).toEqual([
      "typing.stop",
      "message.create",
    ]);
  });

  test("drops typing beyond 2,048 frames, then closes with 4410", async () => {
    await using testServer = await startPicoServer();
    const peer = await testServer.connect("/pico?session_id=s1");
    for (let n = 0; n < 10; n++) peer.send({ type: "ping", id: `p${n}`, session_id: `t${n}` });
    await waitFor(() => peer.frames.length === 10);
    const { picoServer, channels } = testServer.services;
    peer.ws.pause();
    await testServer.fill("s1", 256 * 1024);
    for (let n = 0; n < 10; n++) channels.typing({ channel: "pico", session: `t${n}` }, true);
    for (let n = 0; n < 2_048; n++) await testServer.say("s1", `${n}`);
    expect([picoServer.metrics().dropped, picoServer.status().connections]).toEqual([
      { typing: 10, closed: 0 },
      1,
    ]);
    await testServer.say("s1", "one more");
    expect(await testServer.fact("pico-server:disconnected")).toMatchObject({
      code: 4410,
      reason: "slow_consumer",
    });
  });

  test("queues each error of an accepted message apart from typing", async () => {
    await using testServer = await startPicoServer({
      app: (message) => {
        message.accept();
        throw new Error("fire");
      },
    });
    const { peer, filled } = await connectStuck(testServer);
    const { channels } = testServer.services;
    channels.typing(to, true);
    const other = await testServer.connect("/pico?session_id=s1");
    for (const id of ["a", "b"])
      other.send({ type: "message.send", id, payload: { content: "hi" } });
    await other.settled();
    for (let n = 0; n < 3_000; n++) channels.typing(to, n % 2 === 0);
    await testServer.say("s1", "last");
    const frames = await readQueued(peer, filled, "last");
    expect(frames.map(({ type, payload }) => [type, payload?.request_id])).toEqual([
      ["typing.stop", undefined],
      ["error", "a"],
      ["error", "b"],
      ["message.create", undefined],
    ]);
  });

  test("sends the queued frames later in order", async () => {
    await using testServer = await startPicoServer();
    const { peer, filled } = await connectStuck(testServer);
    const texts = Array.from({ length: 1_500 }, (_, n) => `${n}`);
    for (const text of texts) await testServer.say("s1", text);
    const frames = await readQueued(peer, filled, texts.at(-1)!);
    expect(frames.map(({ payload }) => payload?.content)).toEqual(texts);
  });
});
