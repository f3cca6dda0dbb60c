// A channel in one file: each datagram is a message, each sender address is a session.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { defineChannel } from "doorward/plugins/channels";
import * as z from "zod";

const schema = z.strictObject({ port: z.int().min(0).max(65_535).default(9000) });

export default () =>
  defineChannel({
    name: "udp",
    schema,
    start({ attach, config, log, random, onReady, onStop }) {
      const socket = createSocket("udp4").on("error", ({ message }) =>
        log.warn({ message }, "the socket failed"),
      );
      const send = (session, frame) =>
        new Promise((resolve) => {
          const [address, port] = session.split(" ");
          socket.send(JSON.stringify(frame), Number(port), address, (error) => resolve(!error));
        });
      const sendTo = async (session, id, frame) => {
        const isSent = /^[\d.]+ \d+$/.test(session) && (await send(session, frame));
        return { id, status: isSent ? "written" : "undelivered" };
      };
      const fail = (session, { code = "internal" }) => void send(session, { error: code });
      const channel = attach({
        accepts: "console", // the owner may write into sessions from the chat page
        send: (session, id, { content, kind, inReplyTo }) =>
          sendTo(session, id, { id, content, kind, in_reply_to: inReplyTo }),
        update: (session, id, { content, final }) =>
          sendTo(session, id, { id, content, update: true, final }),
        remove: (session, id) => sendTo(session, id, { id, remove: true }),
        failed: (session, id, error) => fail(session, error),
        turn({ session, id, content, protocol }) {
          if (protocol === "dashboard") void send(session, { id, content, from: "owner" });
        },
      });
      function onDatagram(bytes, { address, port }) {
        const session = `${address} ${port}`;
        const id = Buffer.from(random(8)).toString("hex");
        channel
          .deliver({ session, id, content: `${bytes}` })
          .catch((error) => fail(session, error));
      }
      onStop(() => void socket.close());
      onReady(async () => {
        await once(socket.bind(config().port, "127.0.0.1"), "listening");
        socket.on("message", onDatagram);
        return async () => void socket.off("message", onDatagram);
      });
      return { port: () => socket.address().port };
    },
  });
