import { describe, expect, test } from "vitest";
import { sources } from "./source.ts";

/* Limits the lines of each room, comments included. A change that needs more raises the number in
 * the same commit and says why. docs/decisions/0075-limit-the-lines-of-each-room.md has the
 * reasons of these. */

const rooms = [
  ["kernel", 1_770],
  ["lib", 6_800],
  ["plugins/http", 3_385],
  ["plugins/token-store", 1_400],
  ["plugins/settings", 500],
  ["plugins/channels", 6_320],
  ["plugins/conversations", 6_610],
  ["plugins/redis", 4_630],
  ["plugins/pico-server", 8_160],
  ["plugins/protocols", 7_290],
  ["plugins/program", 3_310],
  ["plugins/pico-client", 1_320],
  ["plugins/media", 1_780],
  ["plugins/echo", 80],
  ["plugins/dashboard/server", 6_690],
  ["plugins/dashboard/pages", 18_500],
  ["plugins/dashboard/shared", 1_310],
  ["plugins/dashboard", 350],
  ["plugins/tray", 2_190],
  ["config", 3_060],
  ["bin", 5_240],
  ["testkit", 2_600],
] as const;

/** The longest name counts: `plugins/dashboard` has what is in none of its folders. */
const roomOf = (path: string): string | undefined =>
  rooms
    .map(([name]) => name)
    .filter((name) => path.startsWith(`${name}/`))
    .toSorted((a, b) => b.length - a.length)[0];

const lines = new Map<string | undefined, number>();
for (const { path, text } of sources()) {
  const room = roomOf(path);
  lines.set(room, (lines.get(room) ?? 0) + text.trimEnd().split("\n").length);
}

describe("rooms", () => {
  test("contain all sources", () => {
    expect(lines.get(undefined)).toBeUndefined();
  });

  test.each(rooms)("%s has at most %i lines", (room, maximum) => {
    expect(lines.get(room)).toBeGreaterThan(0);
    expect(lines.get(room)).toBeLessThanOrEqual(maximum);
  });
});
