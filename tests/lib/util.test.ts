// Tests small functions of every part of the project.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withoutMarkdown } from "../../lib/util.ts";

describe("withoutMarkdown", () => {
  test.each([
    ["**Hello** `x`", "Hello x"],
    ["# A plan", "A plan"],
    ["- [ ] milk", "[ ] milk"],
    ["> *quoted* and _said_", "quoted and said"],
    ["see [the page](https://example.org/a?b=c)!", "see the page!"],
    ["![a cat](cat.png)", "a cat"],
    ["~~old~~ ***both***", "old both"],
    ["```ts\nconst a = 1;\n```", "\nconst a = 1;\n"],
    ["1. first", "first"],
  ])("reduces %j to %j", (text, plain) => {
    expect(withoutMarkdown(text)).toBe(plain);
  });

  test.each(["2 * 3 * 4", "snake_case_name", "a*b*c", "-5 degrees", "#1", "f(x)[0](y z)", "x ~ y"])(
    "keeps %j",
    (text) => {
      expect(withoutMarkdown(text)).toBe(text);
    },
  );

  test("adds nothing, and ends in time for any text", () => {
    const pieces = fc.constantFrom("*", "_", "`", "[", "](", ")", "~~", "a", " ", "\n", "#", "1.");
    const texts = fc.array(pieces, { maxLength: 1_600 }).map((all) => all.join(""));
    fc.assert(
      fc.property(texts, (text) => {
        const began = performance.now();
        const plain = withoutMarkdown(text);
        expect(plain.length).toBeLessThanOrEqual(text.length);
        expect(performance.now() - began).toBeLessThan(1_000);
      }),
    );
  });
});
