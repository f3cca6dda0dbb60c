// Frames that `connect` sends to a server, with the extension and without.
import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createHash } from "node:crypto";
import { describe, test } from "vitest";
import { WebSocket } from "ws";
import { createStoppedClock } from "../../kernel/testing.ts";
import { connect } from "../../lib/pico-link/client.ts";
import { toClosePayload, toServerFrame } from "./frames.ts";
import { expectGolden } from "./golden.ts";
import { Peer, Recording } from "./recorder.ts";
import { createRandom } from "./service.ts";

const hello = {
  version: 1,
  conn_id: "c".repeat(32),
  session_id: "s",
  epoch: "e".repeat(16),
  seq: 0,
  resumed: false,
  replay: 0,
  gap: false,
  ping_interval: 30,
  read_timeout: 60,
  max_payload: 33_554_432,
  window: { frames: 256, bytes: 524_288, ttl_s: 300 },
  retry: { min: 500, max: 30_000 },
  can: ["append", "stop", "turns"],
};

/** Accepts the next handshake. */
async function accept(server: Server, record: Recording, name: string): Promise<Peer> {
  const [socket] = (await once(server, "connection")) as [Socket];
  const peer = new Peer(record, name, socket);
  const line = await peer.until("Sec-WebSocket-Key");
  await peer.head();
  const key = `${line.split(": ")[1]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
  const answer = createHash("sha1").update(key).digest("base64");
  const head = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
  socket.write([...head, `Sec-WebSocket-Accept: ${answer}`, "", ""].join("\r\n"));
  return peer;
}

function say(peer: Peer, frame: object): void {
  const text = JSON.stringify(frame);
  peer.send(toServerFrame(text), `text ${text}`);
}

async function close(peer: Peer, code: number, reason: string): Promise<void> {
  peer.send(toServerFrame(toClosePayload(code, reason), 0x8), `close ${code} ${reason}`);
  await peer.until("close");
  await peer.cut();
}

async function startServer() {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const clock = createStoppedClock();
  clock.set(1_700_000_000_000);
  const client = connect({
    url: `ws://127.0.0.1:${port}/pico`,
    token: "token-of-the-golden-files",
    sessionId: "s",
    WebSocket,
    headers: true,
    clock,
    random: createRandom(),
  });
  const record = new Recording({ port }, { [`:${port}`]: ":<port>" });
  return {
    client,
    record,
    accept: (name: string) => accept(server, record, name),
    /** Lets time pass until the client connects again. */
    async acceptAgain(name: string): Promise<Peer> {
      const accepted = accept(server, record, name);
      let isAccepted = false;
      server.once("connection", () => (isAccepted = true));
      while (!isAccepted) {
        clock.increment(100);
        await new Promise((resolve) => setImmediate(resolve));
      }
      return accepted;
    },
    clock,
    [Symbol.dispose]: () => {
      client.close();
      server.close();
    },
  };
}

describe("connect", () => {
  test("sends the frames of the golden file", async () => {
    using server = await startServer();
    const { client, record, clock } = server;
    const message = { message_id: "a".repeat(32), content: "hello", request_id: "1", final: true };
    const numbered = { session_id: "s", timestamp: 1, epoch: hello.epoch };

    record.title("messages, stops and acknowledgements");
    const a = await server.accept("A");
    say(a, { type: "hello", session_id: "s", payload: hello });
    const sent = client.send({ content: "hello", id: "1" }).accepted;
    await a.until("message.send");
    say(a, { type: "message.create", payload: message, ...numbered, seq: 1 });
    say(a, { type: "message.ack", payload: { request_id: "1", status: "accepted" } });
    await sent;
    client.typing(true);
    client.typing(false);
    await a.until("typing.stop");
    const stopped = client.stop("1");
    const { id } = JSON.parse((await a.until("message.stop")).replace(/^text masked /, ""));
    const status = { request_id: "1", status: "over" };
    say(a, { type: "stop.ack", payload: { request_id: id, stopped: [status] } });
    await stopped;
    clock.increment(1_000);
    await a.until('"ack"');

    record.title("a message that was not acknowledged, after a restart of the server");
    const repeated = client.send({ content: "again", id: "2", replaces: "1" }).accepted;
    await a.until("message.send");
    await close(a, 1012, "restart; retry=1000");
    const b = await server.acceptAgain("B");
    say(b, { type: "hello", session_id: "s", payload: { ...hello, seq: 1, resumed: true } });
    await b.until("message.send");
    say(b, { type: "message.ack", payload: { request_id: "2", status: "accepted" } });
    await repeated;

    record.title("a server without the extension");
    await close(b, 1001, "going_away");
    const c = await server.acceptAgain("C");
    const plain = client.send({ content: "plain", id: "3" }).accepted;
    say(c, { type: "message.create", payload: message, session_id: "s", timestamp: 1 });
    await c.until("message.send");
    await plain;
    client.close();
    await c.until("close");
    await c.cut();
    await expectGolden("client.txt", record.text);
  });
});
