import { deflateSync } from "node:zlib";
import type { LauncherState } from "../../kernel/index.ts";

/* The dashboard's mark as a function of the place, in its box of 32 by 32: an arch, light in it, its leaf ajar. A pale
 * rim sets the dark arch off from a dark panel; on a light one it is not seen. */

export type Colour = readonly [red: number, green: number, blue: number];
export const colours = {
  wall: [0x0c, 0x6a, 0x60],
  light: [0xff, 0xd4, 0x8a],
  leaf: [0x08, 0x48, 0x41],
  rim: [0xf2, 0xf7, 0xf6],
  dark: [0x3a, 0x44, 0x43],
  attention: [0xd9, 0x48, 0x0f],
  busy: [0x1c, 0x7e, 0xd6],
} as const satisfies Record<string, Colour>;

/** Half of a circle on a box: `M left,29 V spring a r,r …`. */
function isInArch(x: number, y: number, radius: number, spring: number, floor = 29): boolean {
  const aside = Math.abs(x - 16);
  if (aside > radius || y > floor) return false;
  return y >= spring || aside ** 2 + (y - spring) ** 2 <= radius ** 2;
}

/** `M9 29V14.5a7 7 0 0 1 5-6.7l3 2.7v20.6z`: its lower edge hangs out of the arch, towards the visitor. */
function isInLeaf(x: number, y: number): boolean {
  if (x < 9 || x > 17) return false;
  const floor = 29 + ((x - 9) / 8) * 2.1;
  if (y > floor) return false;
  return x <= 14 ? y > 14.5 || isInArch(x, y, 7, 14.5) : y >= 7.8 + ((x - 14) / 3) * 2.7;
}

const isInKnob = (x: number, y: number): boolean => (x - 14.6) ** 2 + (y - 20.6) ** 2 <= 1;

/** A dot at the lower right, with a rim: setup waits for its owner, a rotation is under way. */
const badges: Partial<Record<LauncherState, Colour>> = {
  setup: colours.attention,
  rotating: colours.busy,
};

/** The colour at a place; nothing where the icon is transparent. */
export function colourAt(x: number, y: number, state: LauncherState): Colour | undefined {
  const badge = badges[state];
  const fromBadge = Math.hypot(x - 25, y - 25);
  if (badge && fromBadge <= 7) return fromBadge <= 5.5 ? badge : colours.rim;
  const isOff = state === "unconfigured";
  if (isInKnob(x, y)) return isOff ? colours.dark : colours.light;
  if (isInLeaf(x, y)) return isOff ? colours.dark : colours.leaf;
  if (isInArch(x, y, 7, 14.5)) return isOff ? colours.rim : colours.light;
  if (isInArch(x, y, 12, 14)) return isOff ? colours.dark : colours.wall;
  return isInArch(x, y, 13.4, 14, 30.4) ? colours.rim : undefined;
}

export interface Icon {
  /** Width and height in pixels. */
  readonly size: number;
  /** Alpha, red, green, blue of each pixel, row by row: "ARGB32 in network byte order". Not premultiplied. */
  readonly argb: Uint8Array;
}

/** Of panels, at one and two device pixels. */
const sizes = [16, 22, 24, 32, 48, 64] as const;
/** Points looked at in each pixel, each way. */
const samplesPerPixel = 4;
const iconCache = new Map<LauncherState, readonly Icon[]>();

/** The icon of a state in every size, smallest first; drawn once. */
export function iconsFor(state: LauncherState): readonly Icon[] {
  const known = iconCache.get(state);
  if (known) return known;
  const icons = sizes.map((size) => ({ size, argb: drawIcon(size, state) }));
  iconCache.set(state, icons);
  return icons;
}

export function drawIcon(size: number, state: LauncherState): Uint8Array {
  const argb = new Uint8Array(size * size * 4);
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      argb.set(pixel(column, row, 32 / size, state), (row * size + column) * 4);
    }
  }
  return argb;
}

function pixel(column: number, row: number, scale: number, state: LauncherState): number[] {
  const seen: Colour[] = [];
  for (let at = 0; at < samplesPerPixel ** 2; at++) {
    const x = column + ((at % samplesPerPixel) + 0.5) / samplesPerPixel;
    const y = row + (Math.floor(at / samplesPerPixel) + 0.5) / samplesPerPixel;
    const colour = colourAt(x * scale, y * scale, state);
    if (colour) seen.push(colour);
  }
  if (seen.length === 0) return [0, 0, 0, 0];
  const mean = (part: 0 | 1 | 2): number =>
    Math.round(seen.reduce((sum, each) => sum + each[part], 0) / seen.length);
  return [Math.round((seen.length / samplesPerPixel ** 2) * 255), mean(0), mean(1), mean(2)];
}

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
