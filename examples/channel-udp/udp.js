// A channel in one file: a datagram is a message, and whoever sends from one address is one session.
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
    const tell = (session, answer) =>
      new Promise((resolve) => {
        const [address, port] = session.split(" ");
        socket.send(JSON.stringify(answer), Number(port), address, (error) => resolve(!error));
      });
    const inlet = needs.channels.attach({
      name: "udp",
      async send(session, id, { content }) {
        const isSent = /^[\d.]+ \d+$/.test(session) && (await tell(session, { id, content }));
        return { id, status: isSent ? "written" : "undelivered" };
      },
    });
    function heard(bytes, { address, port }) {
      const session = `${address} ${port}`;
      const id = Buffer.from(random(8)).toString("hex");
      inlet
        .deliver({
          channel: "udp",
          session,
          id,
          content: `${bytes}`,
          media: [],
          at: clock.now(),
          hops: 0,
        })
        .catch(({ code = "internal" }) => tell(session, { error: code }));
    }
    onStop(() => {
      inlet.close();
      socket.close();
    });
    onReady(async () => {
      await once(socket.bind(config().port, "127.0.0.1"), "listening");
      socket.on("message", heard);
      return async () => void socket.off("message", heard);
    });
    return { udp: { port: () => socket.address().port } };
  },
});
