import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { WebSocketSink } from "../../../../plugins/pico-server/connection/sink.ts";
import type { ChannelWebSocket } from "../../../../plugins/pico-server/connection/web-socket.ts";
import { stand, until } from "../../../support/pico-server-harness.ts";

const texts = Array.from({ length: 5 }, (_, n) => `${n}`.padEnd(100_000, "x"));

test.each([1, 3])(
  "a machine that takes %s large frames at once is given more at once",
  async (frames) => {
    const machine = new Duplex({
      write: (_, __, taken) => taken(),
      writev: (_, taken) => taken(),
      read: () => undefined,
    });
    const sink = new WebSocketSink({ readyState: 1, OPEN: 1 } as ChannelWebSocket, machine);
    const drained = new Promise<void>((resolve) => {
      sink.filler = { drained: resolve, behind: () => undefined };
    });
    for (const text of texts.slice(0, frames)) sink.write(Buffer.from(text));
    await drained;
    expect(sink.pending()).toBe(0);
  },
);

test.each(["", "&pico_ext=1"])(
  "what is said in one turn arrives, though nothing follows it (%s)",
  async (query) => {
    await using door = await stand();
    const peer = await door.connect(`/pico?session_id=s${query}`);
    for (const text of texts) void door.say("s", text);
    await until(
      () => peer.frames.filter(({ type }) => type === "message.create").length === texts.length,
    );
  },
);

test("what is kept for a client arrives when it comes back, though nothing follows it", async () => {
  await using door = await stand();
  for (const text of texts) void door.say("s", text);
  const peer = await door.connect("/pico?session_id=s");
  await until(() => peer.frames.length === texts.length);
});
