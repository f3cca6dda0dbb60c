import { describe, expect, test } from "vitest";
import { sources } from "./source.ts";

/* Limits the lines of each room, comments included. A change that needs more raises the number in
 * the same commit and says why. docs/decisions/0075-limit-the-lines-of-each-room.md has the
 * reasons of these. */

const rooms = [
  ["kernel", 1_770],
  ["lib", 6_780],
  ["plugins/http", 3_380],
  ["plugins/token-store", 1_400],
  ["plugins/settings", 490],
  ["plugins/channels", 6_500],
  ["plugins/conversations", 6_850],
  ["plugins/redis", 4_800],
  ["plugins/pico-server", 8_000],
  ["plugins/protocols", 7_180],
  ["plugins/program", 3_280],
  ["plugins/pico-client", 1_320],
  ["plugins/media", 1_770],
  ["plugins/echo", 80],
  ["plugins/dashboard/server", 6_670],
  ["plugins/dashboard/pages", 18_540],
  ["plugins/dashboard/shared", 1_310],
  ["plugins/dashboard", 350],
  ["plugins/tray", 2_180],
  ["config", 3_010],
  ["bin", 5_220],
  ["testkit", 2_590],
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
