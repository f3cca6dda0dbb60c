// Many clients in one process, over plain sockets. The parent orders them to connect and
// disconnect; a seed selects the order and the ways. The argument is a JSON object; the token is in
// the environment.
import { connect } from "node:net";

const { port, seed } = JSON.parse(process.argv[2]);
const head = [
  "GET /pico HTTP/1.1",
  `Host: localhost:${port}`,
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  `Authorization: Bearer ${process.env.TOKEN}`,
  "",
  "",
].join("\r\n");
const closeFrame = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]);
const atOnce = 100;

// mulberry32
let state = seed;
function chance() {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}
const oneOf = (list) => list[Math.floor(chance() * list.length)];

const all = [];
const open = () =>
  new Promise((done, failed) => {
    const socket = connect({
      port,
      host: "127.0.0.1",
      localAddress: `127.0.0.${2 + Math.floor(chance() * 8)}`,
    });
    socket.on("error", failed);
    socket.once("data", (answer) => {
      if (!answer.toString("latin1").startsWith("HTTP/1.1 101"))
        return failed(new Error(answer.toString("latin1")));
      socket
        .off("error", failed)
        .on("error", () => undefined)
        .resume();
      all.push(socket);
      return done();
    });
    socket.write(head);
  });

const ways = [
  (socket) => socket.end(closeFrame),
  (socket) => socket.end(),
  (socket) => socket.destroy(),
  (socket) => socket.resetAndDestroy(),
];
const close = () =>
  new Promise((done) => {
    const at = Math.floor(chance() * all.length);
    const socket = all[at];
    all[at] = all.at(-1);
    all.pop();
    if (socket.closed) return done(); // the service closed it first
    socket.once("close", done);
    oneOf(ways)(socket);
  });

async function many(count, run) {
  let left = count;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      await run();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

const orders = {
  open: ({ count }) => many(count, open),
  close: ({ count }) => many(count, close),
  /** Opens or closes a connection at random, `count` times. */
  mingle: ({ count }) =>
    many(count, () => (all.length < atOnce || chance() < 0.5 ? open() : close())),
  count: () => all.length,
};
process.on("message", async ({ id, order, ...more }) => {
  try {
    process.send({ id, answer: await orders[order](more) });
  } catch (error) {
    process.send({ id, failed: error.message });
  }
});
process.once("disconnect", () => process.exit(0));
process.send({ ready: true });
