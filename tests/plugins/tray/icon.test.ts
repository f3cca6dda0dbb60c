import { inflateSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import {
  iconsFor,
  encodePng,
  colours,
  type Icon,
  type Colour,
} from "../../../plugins/tray/icon.ts";
import { read } from "../../rules/source.ts";

const states = ["unconfigured", "setup", "running", "rotating"] as const;
const panels: readonly Colour[] = [
  [255, 255, 255],
  [0xf6, 0xf5, 0xf3],
  [0x35, 0x35, 0x35],
  [0, 0, 0],
];

/** Relative luminance by WCAG 2.2. */
function luminance(colour: Colour): number {
  const parts = colour.map((part) => part / 255);
  const linear = parts.map((part) =>
    part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * linear[0]! + 0.7152 * linear[1]! + 0.0722 * linear[2]!;
}
function contrast(one: Colour, other: Colour): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high! + 0.05) / (low! + 0.05);
}
const pixelsOf = ({ argb, size }: Icon): number[][] =>
  Array.from({ length: size ** 2 }, (_, at) => [...argb.subarray(at * 4, at * 4 + 4)]);

describe("iconsFor", () => {
  test("uses the colours of the dashboard logo", () => {
    const svg = read("plugins/dashboard/pages/icon.svg");
    const hex = (colour: Colour): string => `#${Buffer.from(colour).toString("hex")}`;
    const { wall, light, leaf } = colours;
    expect([...svg.matchAll(/fill="(#\w+)"/g)].map(([, fill]) => fill)).toEqual(
      [wall, light, leaf, light].map(hex),
    );
  });

  test.each(states)("contrasts with light and dark panels in the state %s", (state) => {
    for (const icon of iconsFor(state)) {
      const solid = pixelsOf(icon).flatMap(([alpha, red, green, blue]): Colour[] =>
        alpha === 255 ? [[red!, green!, blue!]] : [],
      );
      for (const panel of panels) {
        const seen = solid.filter((colour) => contrast(colour, panel) >= 3);
        expect(seen.length, `${icon.size} on ${String(panel)}`).toBeGreaterThan(
          icon.size ** 2 * 0.08,
        );
      }
    }
  });

  test("differs in every state and uses ARGB order", () => {
    for (const at of [0, 1, 2, 3, 4, 5]) {
      expect(
        new Set(states.map((state) => Buffer.from(iconsFor(state)[at]!.argb).toString("hex"))).size,
      ).toBe(4);
    }
    const running = iconsFor("running").find(({ size }) => size === 32)!;
    const pixels = pixelsOf(running);
    const at = (x: number, y: number): number[] => pixels[y * 32 + x]!;
    expect([at(0, 0), at(31, 0)]).toEqual([
      [0, 0, 0, 0],
      [0, 0, 0, 0],
    ]);
    const { wall, leaf, light } = colours;
    expect([at(6, 20), at(12, 16), at(20, 20)]).toEqual(
      [wall, leaf, light].map((colour) => [255, ...colour]),
    );
  });

  test("caches the icon of each state", () => {
    expect(iconsFor("running")).toBe(iconsFor("running"));
    expect(iconsFor("running").map(({ size, argb }) => argb.length / size ** 2)).toEqual([
      4, 4, 4, 4, 4, 4,
    ]);
  });

  test("encodes the same pixels as PNG", () => {
    const icon = iconsFor("setup")[1]!;
    const png = encodePng(icon);
    expect(png.subarray(0, 16).toString("latin1")).toBe("\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    expect([png.readUInt32BE(16), png.readUInt32BE(20), png.toString("hex", 24, 29)]).toEqual([
      22,
      22,
      "0806000000",
    ]);
    expect(png.subarray(-12).toString("hex")).toBe("0000000049454e44ae426082");
    const length = png.readUInt32BE(33);
    const rows = inflateSync(png.subarray(41, 41 + length));
    const read = Array.from({ length: 22 * 22 }, (_, at) => {
      const [red, green, blue, alpha] = rows.subarray(Math.floor(at / 22) * 89 + 1 + (at % 22) * 4);
      return [alpha, red, green, blue];
    });
    expect(read).toEqual(pixelsOf(icon));
  });
});
