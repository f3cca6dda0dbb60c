// Draws the icon of the tray in several sizes.
import { crc32, deflateSync } from "node:zlib";
import type { LauncherState } from "../../kernel/index.ts";

/* The logo of the dashboard as a function of the position, in a box of 32 by 32: a lit arch with a
 * half-open leaf. The pale rim separates the dark arch from a dark panel. */

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

/** Semicircle on top of a box: `M left,29 V spring a r,r …`. */
function isInArch(x: number, y: number, radius: number, spring: number, floor = 29): boolean {
  const distance = Math.abs(x - 16);
  if (distance > radius || y > floor) return false;
  return y >= spring || distance ** 2 + (y - spring) ** 2 <= radius ** 2;
}

/** `M9 29V14.5a7 7 0 0 1 5-6.7l3 2.7v20.6z`: its lower edge extends below the arch. */
function isInLeaf(x: number, y: number): boolean {
  if (x < 9 || x > 17) return false;
  const floor = 29 + ((x - 9) / 8) * 2.1;
  if (y > floor) return false;
  return x <= 14 ? y > 14.5 || isInArch(x, y, 7, 14.5) : y >= 7.8 + ((x - 14) / 3) * 2.7;
}

const isInKnob = (x: number, y: number): boolean => (x - 14.6) ** 2 + (y - 20.6) ** 2 <= 1;

/** Colour of the dot at the lower right: setup is open, or a rotation is running. */
const badges: Partial<Record<LauncherState, Colour>> = {
  setup: colours.attention,
  rotating: colours.busy,
};

/** @returns The colour at a position, or undefined where the icon is transparent. */
function colourAt(x: number, y: number, state: LauncherState): Colour | undefined {
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
  /**
   * Alpha, red, green and blue of each pixel, row by row: "ARGB32 in network byte order". Not
   * premultiplied.
   */
  readonly argb: Uint8Array;
}

/** Common icon sizes of panels, at scale factors 1 and 2. */
const sizes = [16, 22, 24, 32, 48, 64] as const;
/** Samples per pixel in each direction. */
const samplesPerPixel = 4;
const iconCache = new Map<LauncherState, readonly Icon[]>();

/** @returns The icon of a state in every size, smallest first. Cached. */
export function iconsFor(state: LauncherState): readonly Icon[] {
  const known = iconCache.get(state);
  if (known) return known;
  const icons = sizes.map((size) => ({ size, argb: drawIcon(size, state) }));
  iconCache.set(state, icons);
  return icons;
}

function drawIcon(size: number, state: LauncherState): Uint8Array {
  const argb = new Uint8Array(size * size * 4);
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      argb.set(pixel(column, row, 32 / size, state), (row * size + column) * 4);
    }
  }
  return argb;
}

function pixel(column: number, row: number, scale: number, state: LauncherState): number[] {
  const samples: Colour[] = [];
  for (let index = 0; index < samplesPerPixel ** 2; index++) {
    const x = column + ((index % samplesPerPixel) + 0.5) / samplesPerPixel;
    const y = row + (Math.floor(index / samplesPerPixel) + 0.5) / samplesPerPixel;
    const colour = colourAt(x * scale, y * scale, state);
    if (colour) samples.push(colour);
  }
  if (samples.length === 0) return [0, 0, 0, 0];
  const mean = (part: 0 | 1 | 2): number =>
    Math.round(samples.reduce((sum, each) => sum + each[part], 0) / samples.length);
  return [Math.round((samples.length / samplesPerPixel ** 2) * 255), mean(0), mean(1), mean(2)];
}

const pngSignature = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");

/** Encodes an icon as a PNG file, for platforms that do not accept pixels. */
export function encodePng({ size, argb }: Icon): Buffer {
  // Each row starts with its filter type; 0 = none.
  const rows = Buffer.alloc(size * (size * 4 + 1));
  for (let index = 0; index < size * size; index++) {
    const [alpha, red, green, blue] = argb.subarray(index * 4, index * 4 + 4);
    rows.set([red!, green!, blue!, alpha!], index * 4 + Math.floor(index / size) + 1);
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
