import { type PicoTestServer } from "./pico-server-harness.ts";

export const MiB = 1024 * 1024;

/** The header of a frame and the first `bytes` of its payload. */
export function begun(bytes: number): Buffer {
  const head = Buffer.alloc(14);
  head[0] = 0x82;
  head[1] = 0xff;
  head.writeBigUInt64BE(BigInt(bytes + 1), 2);
  return Buffer.concat([head, Buffer.alloc(bytes)]);
}

export const bytesIn = (testServer: PicoTestServer): number =>
  testServer.services.picoServer.metrics().bytes.in ?? 0;
export const closesOf = (testServer: PicoTestServer): (readonly [number, string])[] =>
  testServer.facts.flatMap((fact) =>
    fact.type === "pico-server:disconnected" ? [[fact.code, fact.reason] as const] : [],
  );

/** A JSON message of exactly `size` bytes: text and an image. */
export function largeMessage(size: number): Buffer {
  const write = (base64: string): Buffer =>
    Buffer.from(
      JSON.stringify({
        type: "message.send",
        id: "large",
        payload: { content: "look", media: [`data:image/png;base64,${base64}`] },
        padding: "é".repeat(8),
      }),
    );
  const room = size - write("").byteLength;
  const text = write("A".repeat(room - (room % 4)));
  return Buffer.concat([text, Buffer.alloc(size - text.byteLength, " ")]);
}
