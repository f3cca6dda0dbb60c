import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { distFolder } from "../../../../plugins/dashboard/server/assets.ts";
import { findSections, type SearchEntry } from "../../../../plugins/dashboard/pages/docs/search.ts";

const index: readonly SearchEntry[] = [
  ["pico", "", "The pico channel", "One JSON message per frame."],
  [
    "pico",
    "token",
    "Ways to send the token",
    `${"Words before it. ".repeat(8)}A subprotocol works.`,
  ],
  ["errors", "token_missing", "token_missing", "The request has no token."],
];

describe("findSections", () => {
  test("finds sections with all words, those in headings first", () => {
    expect(findSections(index, "TOKEN").map(({ id }) => id)).toEqual(["token_missing", "token"]);
    expect(findSections(index, "token subprotocol").map(({ id }) => id)).toEqual(["token"]);
    expect(findSections(index, "nothing")).toEqual([]);
    expect(findSections(index, "  ")).toEqual([]);
  });

  test("shows the text around the match", () => {
    const [found] = findSections(index, "subprotocol");
    expect(found?.excerpt).toMatch(/^…Words before it.*A subprotocol works\.$/);
  });

  test("finds settings and errors in the index of the build", () => {
    const built = JSON.parse(
      readFileSync(new URL("search.json", distFolder("docs")), "utf8"),
    ) as SearchEntry[];
    expect(findSections(built, "allow_origins").length).toBeGreaterThan(0);
    expect(findSections(built, "token_missing").map(({ page }) => page)).toContain("errors");
  });
});
