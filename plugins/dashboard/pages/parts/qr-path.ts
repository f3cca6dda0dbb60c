/** Encodes QR codes. Loaded when a page shows one. @module */
import { encode } from "uqr";

/** @returns The path of the dark squares, in a square of `size` units. */
export function toQrPath(text: string): { readonly size: number; readonly path: string } {
  const { size, data } = encode(text, { border: 0 });
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => square(isDark, x, y)));
  return { size, path: path.join("") };
}

const square = (isDark: boolean, x: number, y: number): string[] =>
  isDark ? [`M${x},${y}h1v1h-1z`] : [];
