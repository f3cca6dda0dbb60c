// Recognises the types that browsers may show, by the first bytes of a file, and reads the size of
// images from their headers.

/** Bytes of a file that are examined. The size of a JPEG follows its metadata. */
export const headBytes = 256 * 1024;
/** Larger images cost a browser more memory than a page should need. */
const maxPixels = 50_000_000;

const isAt = (head: Buffer, offset: number, text: string): boolean =>
  head.toString("latin1", offset, offset + text.length) === text;

/** Brands of an ISO media file (`ftyp`), the major one first. */
function hasBrand(head: Buffer, brands: RegExp): boolean {
  if (!isAt(head, 4, "ftyp")) return false;
  const end = Math.min(head.readUInt32BE(0), head.length, 128);
  for (let at = 8; at + 4 <= end; at += 4)
    if (at !== 12 && brands.test(head.toString("latin1", at, at + 4))) return true;
  return false;
}

const riff = (head: Buffer, kind: string): boolean => isAt(head, 0, "RIFF") && isAt(head, 8, kind);
/** An MPEG audio frame of layer III without ID3. */
const isMpegFrame = (head: Buffer): boolean => head[0] === 0xff && (head[1]! & 0xe6) === 0xe2;

/** The eleven types that are recognised, with their signatures. */
const signatures: readonly (readonly [type: string, matches: (head: Buffer) => boolean])[] = [
  ["image/png", (head) => isAt(head, 0, "\x89PNG\r\n\x1a\n")],
  ["image/jpeg", (head) => isAt(head, 0, "\xff\xd8\xff")],
  ["image/gif", (head) => isAt(head, 0, "GIF87a") || isAt(head, 0, "GIF89a")],
  ["image/webp", (head) => riff(head, "WEBP")],
  ["image/avif", (head) => hasBrand(head, /^avi[fs]$/)],
  ["video/mp4", (head) => hasBrand(head, /^(isom|iso[2-9]|mp4[12]|avc1|M4V |dash)$/)],
  ["video/webm", (head) => isAt(head, 0, "\x1aE\xdf\xa3") && head.includes("webm", 4, "latin1")],
  ["audio/mpeg", (head) => isAt(head, 0, "ID3") || isMpegFrame(head)],
  ["audio/ogg", (head) => isAt(head, 0, "OggS")],
  ["audio/wav", (head) => riff(head, "WAVE")],
  ["application/pdf", (head) => isAt(head, 0, "%PDF-")],
];

/** Other names of the types above. */
const aliases: Readonly<Record<string, string>> = {
  "image/jpg": "image/jpeg",
  "audio/mp3": "audio/mpeg",
  "audio/x-wav": "audio/wav",
  "audio/wave": "audio/wav",
  "audio/vnd.wave": "audio/wav",
  "video/ogg": "audio/ogg",
  "application/ogg": "audio/ogg",
  "audio/mp4": "video/mp4",
  "audio/webm": "video/webm",
};

interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** The frame headers of JPEG: SOF0 to SOF15 without DHT, JPG and DAC. */
const isFrameHeader = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

function jpegSize(head: Buffer): ImageSize | undefined {
  let at = 2;
  while (at + 9 <= head.length && head[at] === 0xff) {
    const marker = head[at + 1]!;
    if (isFrameHeader(marker))
      return { height: head.readUInt16BE(at + 5), width: head.readUInt16BE(at + 7) };
    at += marker === 0xff ? 1 : 2 + Math.max(2, head.readUInt16BE(at + 2));
  }
  return undefined;
}

function webpSize(head: Buffer): ImageSize | undefined {
  if (head.length < 30) return undefined;
  if (isAt(head, 12, "VP8X"))
    return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 };
  if (isAt(head, 12, "VP8L")) {
    const bits = head.readUInt32LE(21);
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  if (!isAt(head, 12, "VP8 ")) return undefined;
  return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff };
}

/** The largest `ispe` box: an image may consist of tiles. */
function avifSize(head: Buffer): ImageSize | undefined {
  let largest: ImageSize | undefined;
  for (let at = head.indexOf("ispe", 0, "latin1"); at !== -1;) {
    if (at + 16 > head.length) break;
    const size = { width: head.readUInt32BE(at + 8), height: head.readUInt32BE(at + 12) };
    if (!largest || size.width * size.height > largest.width * largest.height) largest = size;
    at = head.indexOf("ispe", at + 4, "latin1");
  }
  return largest;
}

const imageSizes: Readonly<Record<string, (head: Buffer) => ImageSize | undefined>> = {
  "image/png": (head) =>
    head.length < 24 ? undefined : { width: head.readUInt32BE(16), height: head.readUInt32BE(20) },
  "image/jpeg": jpegSize,
  "image/gif": (head) =>
    head.length < 10 ? undefined : { width: head.readUInt16LE(6), height: head.readUInt16LE(8) },
  "image/webp": webpSize,
  "image/avif": avifSize,
};

/** A file of this type is downloaded, although its type is known. */
const downloaded: ReadonlySet<string> = new Set(["application/pdf"]);

export const isShown = (inline: string | undefined): boolean =>
  inline !== undefined && !downloaded.has(inline);

/** Endings of names that fit a type. Another ending would make a saved file something else. */
const endings: Readonly<Record<string, RegExp>> = {
  "image/png": /\.png$/i,
  "image/jpeg": /\.jpe?g$/i,
  "image/gif": /\.gif$/i,
  "image/webp": /\.webp$/i,
  "image/avif": /\.avif$/i,
  "video/mp4": /\.(?:mp4|m4v|m4a)$/i,
  "video/webm": /\.(?:webm|weba)$/i,
  "audio/mpeg": /\.mp3$/i,
  "audio/ogg": /\.(?:ogg|oga|ogv|opus)$/i,
  "audio/wav": /\.wav$/i,
  "application/pdf": /\.pdf$/i,
};

const neutralType = "application/octet-stream";

/** @returns The declared type in lower case without parameters; a neutral one for other text. */
function normaliseType(given: string | undefined): string {
  const type = (given ?? "").slice(0, 256).split(";", 1)[0]!.trim().toLowerCase();
  return /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/.test(type) ? type : neutralType;
}

function hasFittingSize(head: Buffer, type: string): boolean {
  const sizeOf = imageSizes[type];
  if (!sizeOf) return true;
  const size = sizeOf(head);
  const pixels = size ? size.width * size.height : 0;
  return pixels > 0 && pixels <= maxPixels;
}

interface ExaminedType {
  readonly contentType: string;
  /** The type for browsers. */
  readonly inline?: string;
}

/**
 * Compares the content with what the sender says about it.
 *
 * @param given - The first bytes of the file, at most `headBytes`.
 * @returns No `inline` if the content has no known signature, if its type or the ending of its name
 *   differs, or if an image is too large or has no size. A sender without a type gets the one that
 *   was recognised.
 */
export function examineType(
  given: Uint8Array,
  declared: string | undefined,
  filename: string,
): ExaminedType {
  const head = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
  const named = normaliseType(declared);
  const found = head.length < 12 ? undefined : signatures.find(([, fits]) => fits(head))?.[0];
  const contentType = named === neutralType ? (found ?? named) : named;
  const hasEnding = /[^.]\.[^.]+$/.test(filename);
  const isSame =
    found !== undefined &&
    (aliases[contentType] ?? contentType) === found &&
    (!hasEnding || endings[found]!.test(filename)) &&
    hasFittingSize(head, found);
  return isSame ? { contentType, inline: found } : { contentType };
}
