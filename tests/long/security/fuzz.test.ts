import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { decode, decodeRequest, WireError } from "../../../lib/pico-wire/index.ts";
import { connectClient, waitFor, type PicoTestServer } from "../../support/pico-server-harness.ts";
import {
  frameBytes,
  frameText,
  handshake,
  randomFrom,
  seedOf,
  wireFrame,
  wireFrames,
} from "../../security/generator.ts";
import { knockRaw, rawPeer, startChannel } from "../../security/peers.ts";

let channel: PicoTestServer;
beforeEach(async () => {
  channel = await startChannel();
});
afterEach(async () => {
  await waitFor(() => channel.services.picoServer.connections().length === 0);
  await channel[Symbol.asyncDispose]();
  const [fault] = channel.lines.filter(({ level }) => level === "error");
  if (fault) throw new Error(fault.text, { cause: fault["err"] });
});

/** Resolves to true if the channel still works. */
async function isWell(): Promise<boolean> {
  const peer = await connectClient(channel.port, "/pico");
  await peer.settled();
  peer.ws.terminate();
  return true;
}

const text = Buffer.from('{"type":"ping"}');
const zeros = (size: number): Buffer => Buffer.alloc(size);

describe("malformed WebSocket frame", () => {
  test.each([
    ["without a mask", [wireFrame(text, { masked: false })], 1002],
    ["with the first reserved bit", [wireFrame(text, { reserved: 4 })], 1002],
    ["with the second reserved bit", [wireFrame(text, { reserved: 2 })], 1002],
    ["with the third reserved bit", [wireFrame(text, { reserved: 1 })], 1002],
    ["of a reserved kind", [wireFrame(text, { opcode: 3 })], 1002],
    ["of a reserved control kind", [wireFrame(text, { opcode: 11 })], 1002],
    ["of control, in fragments", [wireFrame(text, { opcode: 9, fin: false })], 1002],
    ["of control, over 125 bytes", [wireFrame(zeros(126), { opcode: 9 })], 1002],
    ["that goes on with nothing", [wireFrame(text, { opcode: 0 })], 1002],
    [
      "that starts within another message",
      [wireFrame(text, { fin: false }), wireFrame(text)],
      1002,
    ],
    ["of text in invalid UTF-8", [wireFrame(Buffer.from([0xc3, 0x28]))], 1007],
    ["of text that is half a character", [wireFrame(Buffer.from([0xf0, 0x9f]))], 1007],
    ["that closes with one byte", [wireFrame(zeros(1), { opcode: 8 })], 1002],
    [
      "that closes with a forbidden code",
      [wireFrame(Buffer.from([0x03, 0xed]), { opcode: 8 })],
      1002,
    ],
    [
      "that closes with a reason in invalid UTF-8",
      [wireFrame(Buffer.from([0x03, 0xe8, 0xff]), { opcode: 8 })],
      1007,
    ],
    ["of 2^63 bytes", [wireFrame(zeros(0), { length: 2n ** 63n, bits: 64 })], 1009],
    ["with a length over 2^53", [wireFrame(zeros(0), { length: 2n ** 53n, bits: 64 })], 1009],
    ["of one byte too many", [wireFrame(zeros(0), { length: 1_048_577n, bits: 64 })], 1009],
    [
      "with too many bytes in all fragments",
      [wireFrame(zeros(1_000_000), { fin: false }), wireFrame(zeros(100_000), { opcode: 0 })],
      1009,
    ],
  ])("%s", async (_, frames, code) => {
    const other = await connectClient(channel.port, "/pico");
    const peer = await rawPeer(channel.port);
    peer.socket.write(Buffer.concat(frames));
    expect((await peer.closed).code).toBe(code);
    await other.settled();
    other.ws.terminate();
  });

  test("closes a connection that sends tiny fragments", async () => {
    for (const piece of [zeros(1), zeros(0)]) {
      const peer = await rawPeer(channel.port);
      const rest = Buffer.concat(
        Array<Buffer>(80_000).fill(wireFrame(piece, { opcode: 0, fin: false })),
      );
      peer.socket.write(Buffer.concat([wireFrame(piece, { fin: false }), rest]));
      expect((await peer.closed).code).toBe(1009);
    }
  });
});

test("declines compression and rejects compressed frames", async () => {
  const peer = await rawPeer(channel.port, [
    "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
  ]);
  expect(peer.head).toMatch(/^HTTP\/1\.1 101 /);
  expect(peer.head).not.toMatch(/sec-websocket-extensions/i);
  peer.socket.write(wireFrame(Buffer.from([0xaa, 0x56, 0x2a]), { reserved: 4 }));
  expect((await peer.closed).code).toBe(1002);
});

test("closes a peer that floods pings as rate_limited", async () => {
  const peer = await rawPeer(channel.port);
  peer.socket.write(
    Buffer.concat(Array<Buffer>(10_000).fill(wireFrame(zeros(125), { opcode: 9 }))),
  );
  const { code, received } = await peer.closed;
  expect(code).toBe(4429);
  expect(received).toBeLessThan(200_000);
});

describe("generated malformed input", () => {
  test("decodes to a frame or a WireError", () => {
    const random = randomFrom(seedOf("frames"));
    for (let at = 0; at < 20_000; at += 1) {
      const input = at % 2 ? frameText(random) : frameBytes(random);
      for (const read of [(text: string | Uint8Array) => decode(text, "client"), decodeRequest]) {
        try {
          expect(read(input)).toBeTypeOf("object");
        } catch (error) {
          if (!(error instanceof WireError))
            throw new Error(`not a WireError for ${JSON.stringify(String(input))}`, {
              cause: error,
            });
        }
      }
    }
  });

  test("keeps the connection open when sent as messages", async () => {
    const random = randomFrom(seedOf("messages"));
    for (let batch = 0; batch < 150; batch += 1) {
      const peer = await connectClient(channel.port, `/pico?pico_ext=${batch % 2}`);
      // Nineteen, because the twentieth malformed message closes the connection.
      for (let at = 0; at < 19; at += 1) {
        const isText = random() < 0.5;
        // The bytes may be invalid UTF-8, so they need a binary message.
        peer.ws.send(isText ? frameText(random) : frameBytes(random), { binary: !isText });
      }
      await peer.settled();
      peer.ws.terminate();
    }
  });

  test("closes at most its own connection when sent as frames", async () => {
    const random = randomFrom(seedOf("wire"));
    for (let at = 0; at < 300; at += 1) {
      const peer = await rawPeer(channel.port);
      peer.socket.end(wireFrames(random));
      await peer.closed;
    }
    expect(await isWell()).toBe(true);
  });

  test("opens no connection as a handshake; responses have security headers", async () => {
    const random = randomFrom(seedOf("handshakes"));
    for (let at = 0; at < 600; at += 1) {
      const bytes = handshake(random);
      const answer = await knockRaw(channel.port, bytes);
      if (answer === "") continue;
      const request = JSON.stringify(bytes.toString("latin1"));
      expect(answer, request).toMatch(
        /^HTTP\/1\.1 (?:100|204|40[013456]|41[357]|426|429|431|503) /,
      );
      if (!answer.startsWith("HTTP/1.1 100"))
        expect(answer.toLowerCase(), request).toContain("referrer-policy: no-referrer");
    }
    expect(await isWell()).toBe(true);
  });
});
