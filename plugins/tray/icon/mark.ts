/* The dashboard's mark as a function of the place, in its box of 32 by 32: an arch, light in it, its leaf ajar. A pale
 * rim sets the dark arch off from a dark panel; on a light one it is not seen. */
import type { LauncherState } from "../../../kernel/index.ts";

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
