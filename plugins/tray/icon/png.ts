import { deflateSync } from "node:zlib";
import type { Icon } from "./draw.ts";

const pngSignature = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");

/** An icon as a PNG file, for platforms that take no pixels. */
export function encodePng({ size, argb }: Icon): Buffer {
  const rows = Buffer.alloc(size * (size * 4 + 1)); // each row begins with its filter: none
  for (let at = 0; at < size * size; at++) {
    const [alpha, red, green, blue] = argb.subarray(at * 4, at * 4 + 4);
    rows.set([red!, green!, blue!, alpha!], at * 4 + Math.floor(at / size) + 1);
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(size, 0);
  head.writeUInt32BE(size, 4);
  head.set([8, 6, 0, 0, 0], 8); // 8 bits of red, green, blue and alpha; not interlaced
  return Buffer.concat([
    pngSignature,
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND"),
  ]);
}

function chunk(type: string, data: Uint8Array = new Uint8Array()): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const content = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(content));
  return Buffer.concat([length, content, check]);
}

/** As `zlib.crc32`, which Node 20 has not. */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffff_ffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb8_8320 : 0);
  }
  return ~crc >>> 0;
}
