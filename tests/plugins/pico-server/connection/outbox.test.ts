import { describe, expect, test } from "vitest";
import {
  stand,
  until,
  type Client,
  type Frame,
  type Stand,
} from "../../../support/pico-server-harness.ts";

const to = { channel: "pico", session: "s1" };

/** A client that does not read, and so much sent to it that the rest has to wait here. */
async function stuck(door: Stand, query = "") {
  const peer = await door.connect(`/pico?session_id=s1${query}`);
  peer.ws.pause();
  const filled = await door.fill("s1", 256 * 1024);
  return { peer, filled, waiting: () => door.services.picoServer.connections()[0]!.queuedBytes };
}
const rest = async (peer: Client, filled: number, last: string): Promise<Frame[]> => {
  peer.ws.resume();
  await until(() => peer.frames.some(({ payload }) => payload?.content === last));
  return peer.frames.filter(({ type }) => type !== "hello").slice(filled);
};

describe("while a client does not read", () => {
  test("only the latest of many updates of a message waits for it", async () => {
    await using door = await stand();
    const { peer, filled, waiting } = await stuck(door);
    const { channels } = door.services;
    const [one, two] = [
      await channels.send(to, { content: "1" }),
      await channels.send(to, { content: "2" }),
    ];
    for (let n = 1; n <= 5_000; n++) await channels.update(to, one.id, { content: `1, ${n}` });
    await channels.update(to, two.id, { content: "2, 1" });
    expect(waiting()).toBeLessThan(1024 * 1024);
    await door.say("s1", "last");
    const frames = await rest(peer, filled, "last");
    expect(frames.map(({ payload }) => payload?.content)).toEqual([
      "1",
      "2",
      "1, 5000",
      "2, 1",
      "last",
    ]);
  });

  test.each(["", "&pico_ext=1"])(
    "an update is left out when its message is final; finals and deletes stay (%s)",
    async (query) => {
      await using door = await stand();
      const { peer, filled } = await stuck(door, query);
      const { channels } = door.services;
      const [one, two] = [
        await channels.send(to, { content: "1" }),
        await channels.send(to, { content: "2" }),
      ];
      for (const { id } of [one, two]) await channels.update(to, id, { content: "on the way" });
      await channels.update(to, one.id, { content: "1, whole", final: true });
      await channels.remove(to, two.id);
      await door.say("s1", "last");
      const frames = await rest(peer, filled, "last");
      expect(frames.map(({ type, payload }) => [type, payload?.content])).toEqual([
        ["message.create", "1"],
        ["message.create", "2"],
        ["message.update", "1, whole"],
        ["message.delete", undefined],
        ["message.create", "last"],
      ]);
    },
  );

  test("typing waits once, as it is now", async () => {
    await using door = await stand();
    const { peer, filled } = await stuck(door);
    for (let n = 0; n < 3_000; n++) door.services.channels.typing(to, n % 2 === 0);
    await door.say("s1", "last");
    expect((await rest(peer, filled, "last")).map(({ type }) => type)).toEqual([
      "typing.stop",
      "message.create",
    ]);
  });

  test("2,048 frames may wait: typing gives way first, and one message more closes 4410", async () => {
    await using door = await stand();
    const peer = await door.connect("/pico?session_id=s1");
    for (let n = 0; n < 10; n++) peer.send({ type: "ping", id: `p${n}`, session_id: `t${n}` });
    await until(() => peer.frames.length === 10);
    const { picoServer, channels } = door.services;
    peer.ws.pause();
    await door.fill("s1", 256 * 1024);
    for (let n = 0; n < 10; n++) channels.typing({ channel: "pico", session: `t${n}` }, true);
    for (let n = 0; n < 2_048; n++) await door.say("s1", `${n}`);
    expect([picoServer.metrics().dropped, picoServer.status().connections]).toEqual([
      { typing: 10, closed: 0 },
      1,
    ]);
    await door.say("s1", "one more");
    expect(await door.fact("pico-server:disconnected")).toMatchObject({
      code: 4410,
      reason: "slow_consumer",
    });
  });

  test("what failed after it was accepted is told beside typing, each failure by itself", async () => {
    await using door = await stand({
      app: (message) => {
        message.accept();
        throw new Error("fire");
      },
    });
    const { peer, filled } = await stuck(door);
    const { channels } = door.services;
    channels.typing(to, true);
    const other = await door.connect("/pico?session_id=s1");
    for (const id of ["a", "b"])
      other.send({ type: "message.send", id, payload: { content: "hi" } });
    await other.settled();
    for (let n = 0; n < 3_000; n++) channels.typing(to, n % 2 === 0);
    await door.say("s1", "last");
    const frames = await rest(peer, filled, "last");
    expect(frames.map(({ type, payload }) => [type, payload?.request_id])).toEqual([
      ["typing.stop", undefined],
      ["error", "a"],
      ["error", "b"],
      ["message.create", undefined],
    ]);
  });

  test("what it is told later is what was sent, in order", async () => {
    await using door = await stand();
    const { peer, filled } = await stuck(door);
    const texts = Array.from({ length: 1_500 }, (_, n) => `${n}`);
    for (const text of texts) await door.say("s1", text);
    const frames = await rest(peer, filled, texts.at(-1)!);
    expect(frames.map(({ payload }) => payload?.content)).toEqual(texts);
  });
});
