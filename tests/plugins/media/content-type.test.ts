import { describe, expect, test } from "vitest";
import { examineType } from "../../../plugins/media/content-type.ts";
import { png } from "../../support/media-server.ts";

const latin = (text: string): Buffer => Buffer.from(text.padEnd(32, "\0"), "latin1");
const brand = (name: string): Buffer =>
  Buffer.concat([Buffer.from([0, 0, 0, 24]), latin(`ftyp${name}\0\0\0\0mif1miaf`)]);

function jpeg(width: number, height: number): Buffer {
  const bytes = Buffer.alloc(64);
  // a segment of metadata before the frame header
  bytes.set([0xff, 0xd8, 0xff, 0xe1, 0x00, 0x0a], 0);
  bytes.set([0xff, 0xc2, 0x00, 0x11, 0x08], 14);
  bytes.writeUInt16BE(height, 19);
  bytes.writeUInt16BE(width, 21);
  return bytes;
}

function gif(width: number, height: number): Buffer {
  const bytes = latin("GIF89a");
  bytes.writeUInt16LE(width, 6);
  bytes.writeUInt16LE(height, 8);
  return bytes;
}

function webp(width: number, height: number): Buffer {
  const bytes = latin("RIFF\0\0\0\0WEBPVP8X");
  bytes.writeUIntLE(width - 1, 24, 3);
  bytes.writeUIntLE(height - 1, 27, 3);
  return bytes;
}

function avif(width: number, height: number): Buffer {
  const box = Buffer.alloc(20);
  box.write("ispe", 4, "latin1");
  box.writeUInt32BE(width, 12);
  box.writeUInt32BE(height, 16);
  return Buffer.concat([brand("avif"), box]);
}

const files: readonly (readonly [type: string, name: string, bytes: Buffer])[] = [
  ["image/png", "a.png", png()],
  ["image/jpeg", "a.JPG", jpeg(3, 2)],
  ["image/gif", "a.gif", gif(3, 2)],
  ["image/webp", "a.webp", webp(3, 2)],
  ["image/avif", "a.avif", avif(3, 2)],
  ["video/mp4", "a.mp4", brand("isom")],
  ["video/webm", "a.webm", latin("\x1aE\xdf\xa3\x9fB\x82\x84webm")],
  ["audio/mpeg", "a.mp3", latin("ID3\x04")],
  ["audio/ogg", "a.ogg", latin("OggS")],
  ["audio/wav", "a.wav", latin("RIFF\0\0\0\0WAVE")],
  ["application/pdf", "a.pdf", latin("%PDF-1.7")],
];

describe("examineType", () => {
  test.each(files)("recognises %s by its first bytes", (type, name, bytes) => {
    expect(examineType(bytes, type, name)).toEqual({ contentType: type, inline: type });
    expect(examineType(bytes, undefined, name)).toEqual({ contentType: type, inline: type });
  });

  test.each(files)("does not show a file that only claims to be %s", (type, name, bytes) => {
    const html = Buffer.from("<script>alert(1)</script>".padEnd(64));
    expect(examineType(html, type, name)).toEqual({ contentType: type });
    expect(examineType(bytes, "text/html", name)).toEqual({ contentType: "text/html" });
    expect(examineType(bytes, type, "page.html")).toEqual({ contentType: type });
    expect(examineType(bytes.subarray(0, 2), type, name)).toEqual({ contentType: type });
  });

  test.each([
    ["png", (side: number) => png(side, side)],
    ["jpeg", (side: number) => jpeg(side, side)],
    ["gif", (side: number) => gif(side, side)],
    ["webp", (side: number) => webp(side, side)],
    ["avif", (side: number) => avif(side, side)],
  ])("does not show a %s over 50 megapixels", (kind, image) => {
    const inlineOf = (side: number) => examineType(image(side), `image/${kind}`, "a").inline;
    expect(inlineOf(7_071)).toBe(`image/${kind}`);
    expect(inlineOf(7_072)).toBeUndefined();
  });

  test("does not show an image without a size", () => {
    expect(examineType(png(0, 0), "image/png", "a.png")).toEqual({ contentType: "image/png" });
    const cut = jpeg(3, 2).subarray(0, 18);
    expect(examineType(cut, "image/jpeg", "a.jpg")).toEqual({ contentType: "image/jpeg" });
  });

  test.each(["image/svg+xml", "text/html", "application/xhtml+xml", "text/xml"])(
    "never shows %s",
    (type) => {
      const bytes = Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'/>");
      expect(examineType(bytes, type, "a")).toEqual({ contentType: type });
    },
  );

  test("replaces a type that is not one", () => {
    const bytes = Buffer.from("plain text of some length");
    for (const type of ["", "text", "a/b\r\nX: y", "x".repeat(1_000), "a/b/c"])
      expect(examineType(bytes, type, "a")).toEqual({ contentType: "application/octet-stream" });
    expect(examineType(bytes, "Text/Plain; charset=utf-8", "a")).toEqual({
      contentType: "text/plain",
    });
  });
});
