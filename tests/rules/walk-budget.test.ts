import { describe, expect, test } from "vitest";
import { read } from "./source.ts";

/* Limits how many files a reader must follow from a request to its response. A change may lower
 * these numbers and must not raise them. `tests/long/walks.test.ts` keeps the golden file exact.
 * Five files of a message check its reply and watch promises (docs/decisions/0079). Two of an append
 * and one of a message keep turns of the event loop short (0076); one of a rotation and a setting
 * finds keys that only look like a known one, and two of a rotation hold sessions and frames (0083).
 * Two of each request read the header of a proxy, and admit a check of the doctor (0111); two of a
 * message open its files and pace whole texts (0128). */

const budget = [
  ["sign-in", 26],
  ["message", 43],
  ["rotation", 55],
  ["settings", 38],
  ["append", 13],
] as const;

const entered = JSON.parse(read("tests/golden/files/walks.json")) as Readonly<
  Record<string, readonly string[]>
>;

describe("walk budget", () => {
  test.each(budget)("enters no more files: %s, %i", (name, maximum) => {
    const files = entered[name]!;
    expect(files).not.toEqual([]);
    expect(files.length, `entered files:\n${files.join("\n")}`).toBeLessThanOrEqual(maximum);
  });
});
