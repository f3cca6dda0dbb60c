import { createSocket } from "node:dgram";
import { test } from "node:test";
import { channelRules, createQueue, runChannelConformance } from "doorward/testing";
import udp from "./udp.js";

/** Datagrams have no connections, and this channel no tokens. */
const capabilities = { authentication: false, presence: false, maxTextLength: 40_000 };

/** Connects a client for the conformance rules. */
async function join({ udp: { port } }) {
  const seen = createQueue(5_000);
  const socket = createSocket("udp4").on("message", (bytes) => {
    const { error, remove, update, in_reply_to: inReplyTo, ...message } = JSON.parse(bytes);
    const what = error ? "error" : remove ? "remove" : update ? "update" : "create";
    seen.push({ what, ...message, inReplyTo, code: error });
  });
  await new Promise((resolve) => void socket.bind(0, "127.0.0.1", resolve));
  socket.unref();
  return {
    session: `127.0.0.1 ${socket.address().port}`,
    say: (text) => new Promise((resolve) => void socket.send(text, port(), "127.0.0.1", resolve)),
    next: () => seen.next("a datagram"),
    leave: () => new Promise((resolve) => void socket.close(resolve)),
  };
}

const config = { "channels.udp": { port: 0 } };
for (const rule of channelRules) {
  test(rule, () => runChannelConformance(udp(), { join, capabilities, config, rules: [rule] }));
}
