import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { splitText } from "../../../plugins/channels/index.ts";

const piece = fc.constantFrom("word", " ", "\n", "\n\n", "é", "e\u0301", "\u{1F600}", "👩‍👩‍👧‍👦", "🇩🇪");
const texts = fc.array(piece, { maxLength: 200 }).map((pieces) => pieces.join(""));
const limits = fc.integer({ min: 2, max: 60 });

describe("splitText", () => {
  test.each([
    ["one two three", 8, ["one two ", "three"]],
    ["one\n\ntwo three", 11, ["one\n\ntwo ", "three"]],
    ["first line\nsecond", 14, ["first line\n", "second"]],
    ["paragraph\n\nnext line", 14, ["paragraph\n\n", "next line"]],
    ["abcdef", 4, ["abcd", "ef"]],
    ["abc\u{1F600}", 4, ["abc", "\u{1F600}"]],
    ["abce\u0301f", 4, ["abc", "e\u0301f"]],
    ["", 4, [""]],
    ["abcd", 4, ["abcd"]],
  ])("splits %j at %i", (text, limit, parts) => {
    expect(splitText(text, limit)).toEqual(parts);
  });

  test("loses nothing, keeps the limit and separates no surrogate pair", () => {
    fc.assert(
      fc.property(texts, limits, (text, limit) => {
        const parts = splitText(text, limit);
        expect(parts.join("")).toBe(text);
        for (const part of parts) {
          expect(part.length).toBeLessThanOrEqual(limit);
          expect(part.isWellFormed()).toBe(true);
        }
        expect(parts.slice(1).every((part) => part !== "")).toBe(true);
      }),
    );
  });

  test("keeps the earlier parts of a text that grows", () => {
    fc.assert(
      fc.property(texts, limits, fc.nat(), (text, limit, seed) => {
        const points = Array.from(text);
        const begun = points.slice(0, seed % (points.length + 1)).join("");
        const earlier = splitText(begun, limit).slice(0, -1);
        expect(splitText(text, limit).slice(0, earlier.length)).toEqual(earlier);
      }),
    );
  });
});
