// A channel in one file: each datagram is a message, each sender address is a session.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import * as z from "zod";

const schema = z.strictObject({ port: z.int().min(0).max(65_535).default(9000) });

export default () => ({
  name: "udp",
  api: 1,
  needs: { channels: true },
  config: { section: "channels.udp", schema },
  start({ needs, config, clock, log, random, onReady, onStop }) {
    const socket = createSocket("udp4").on("error", ({ message }) =>
      log.warn({ message }, "the socket failed"),
    );
    const send = (session, frame) =>
      new Promise((resolve) => {
        const [address, port] = session.split(" ");
        socket.send(JSON.stringify(frame), Number(port), address, (error) => resolve(!error));
      });
    const fail = (session, { code = "internal" }) => void send(session, { error: code });
    const channel = needs.channels.attach({
      name: "udp",
      async send(session, id, { content, kind, inReplyTo }) {
        const frame = { id, content, kind, in_reply_to: inReplyTo };
        const isSent = /^[\d.]+ \d+$/.test(session) && (await send(session, frame));
        return { id, status: isSent ? "written" : "undelivered" };
      },
      failed: (session, id, error) => fail(session, error),
    });
    function onDatagram(bytes, { address, port }) {
      const session = `${address} ${port}`;
      const id = Buffer.from(random(8)).toString("hex");
      channel
        .deliver({
          channel: "udp",
          session,
          id,
          content: `${bytes}`,
          media: [],
          at: clock.now(),
          hops: 0,
        })
        .catch((error) => fail(session, error));
    }
    onStop(() => {
      channel.close();
      socket.close();
    });
    onReady(async () => {
      await once(socket.bind(config().port, "127.0.0.1"), "listening");
      socket.on("message", onDatagram);
      return async () => void socket.off("message", onDatagram);
    });
    return { udp: { port: () => socket.address().port } };
  },
});
