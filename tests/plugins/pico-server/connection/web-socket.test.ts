import { Duplex } from "node:stream";
import { describe, expect, test } from "vitest";
import { ChannelWebSocket } from "../../../../plugins/pico-server/connection/web-socket.ts";
import { startPicoServer, waitFor } from "../../../support/pico-server-harness.ts";

const texts = Array.from({ length: 5 }, (_, n) => `${n}`.padEnd(100_000, "x"));

describe("ChannelWebSocket", () => {
  test.each([1, 3])(
    "asks for more frames when the socket accepts %s large ones immediately",
    async (frames) => {
      const transport = new Duplex({
        write: (_, __, done) => done(),
        writev: (_, done) => done(),
        read: () => undefined,
      });
      const sink = new ChannelWebSocket(transport, 1_024);
      const drained = new Promise<void>((resolve) => {
        sink.source = { onDrained: resolve, onPending: () => undefined };
      });
      for (const text of texts.slice(0, frames)) sink.write(Buffer.from(text));
      await drained;
      expect(sink.pending()).toBe(0);
    },
  );

  test.each(["", "&pico_ext=1"])(
    "delivers all frames of one turn without a later write (%s)",
    async (query) => {
      await using testServer = await startPicoServer();
      const peer = await testServer.connect(`/pico?session_id=s${query}`);
      for (const text of texts) void testServer.say("s", text);
      await waitFor(
        () => peer.frames.filter(({ type }) => type === "message.create").length === texts.length,
      );
    },
  );

  test("delivers stored frames to a returning client without a later write", async () => {
    await using testServer = await startPicoServer();
    for (const text of texts) void testServer.say("s", text);
    const peer = await testServer.connect("/pico?session_id=s");
    await waitFor(() => peer.frames.length === texts.length);
  });
});
