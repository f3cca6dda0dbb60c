import type { LauncherState } from "../../../kernel/index.ts";
import { colourAt, type Colour } from "./mark.ts";

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
