import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { decode, decodeRequest, WireError } from "../../lib/pico-wire/index.ts";
import { rounds } from "../support/runs.ts";
import { connectClient, waitFor } from "../support/pico-server-harness.ts";
import {
  below,
  frameBytes,
  handshake,
  randomFrom,
  seedOf,
  wireFrames,
} from "../security/generator.ts";
import { knockRaw, rawPeer, startChannel } from "../security/peers.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;
function collected(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

test("decodes a million inputs to a frame or a WireError", () => {
  const random = randomFrom(seedOf("a million frames"));
  for (let at = 0; at < rounds(25_000); at += 1) {
    const input = frameBytes(random);
    for (let variant = 0; variant < 40; variant += 1) {
      const read = variant % 2 ? decodeRequest : (bytes: Uint8Array) => decode(bytes, "client");
      try {
        read(input);
      } catch (error) {
        if (!(error instanceof WireError))
          throw new Error(`not a WireError for ${JSON.stringify(String(input))}`, { cause: error });
      }
      if (input.length > 0) input[below(random, input.length)] = below(random, 256);
    }
  }
});

test("survives thousands of hostile connections without leaking memory", async () => {
  const random = randomFrom(seedOf("connections"));
  await using channel = await startChannel();
  let before = 0;
  const deadline = Date.now() + 20_000;
  for (let at = 0; at < 5_000 && (Date.now() < deadline || at < 1_000); at += 1) {
    if (at === 500) before = collected();
    if (at % 3 === 0) await knockRaw(channel.port, handshake(random));
    else {
      const peer = await rawPeer(channel.port);
      peer.socket.end(wireFrames(random));
      await peer.closed;
    }
    (channel.lines as unknown[]).length = 0;
    channel.facts.length = 0;
  }
  const peer = await connectClient(channel.port, "/pico");
  await peer.settled();
  peer.ws.terminate();
  await waitFor(() => channel.services.picoServer.connections().length === 0);
  // Named sessions stay for reconnecting clients: at most some kilobytes each.
  const grown = collected() - before;
  console.info(`grown by ${Math.round(grown / 1024)} KiB`);
  expect(grown).toBeLessThan(50 * 2 ** 20);
});
