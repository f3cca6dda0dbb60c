// Tests the words for options and for late answers.
import { describe, expect, test } from "vitest";
import { lateText, lookOfOption } from "../../../plugins/dashboard/shared/question-labels.ts";
import { foldBlankLines } from "../../../plugins/dashboard/shared/visible-text.ts";

describe("An option", () => {
  test.each([
    ["Allow", "allow", "Allow", true],
    ["Allow once", "allow", "Allow once", true],
    ["Allowance", "allow", "Allowance · Allow", true],
    ["Go", "allow", "Go · Allow", true],
    ["Deny", "allow", "Deny · Allow", false],
    ["\u200B– No, thanks", "allow", "\u200B– No, thanks · Allow", false],
    ["Allow", "deny", "Allow · Deny", false],
    ["Deny", "deny", "Deny", false],
  ] as const)("%s with %s reads %s", (label, effect, text, mayLead) => {
    const icon = effect === "allow" ? "circle-check" : "circle-x";
    expect(lookOfOption({ label, effect })).toEqual({ text, icon, mayLead });
  });

  test("has no word and no icon without an effect", () => {
    expect(lookOfOption({ label: "Two steps" })).toEqual({ text: "Two steps", mayLead: false });
  });
});

test("names the settlement before a late answer, and its time", () => {
  const at = Date.UTC(2026, 0, 2, 3, 4, 5);
  const outcomes = ["answered", "dismissed", "expired", "stopped", "withdrawn", "lost"] as const;
  const texts = outcomes.map((outcome) => lateText({ outcome, at }));
  expect(new Set(texts).size).toBe(outcomes.length);
  for (const text of texts) expect(text).toContain("2026-01-02 03:04");
});

test("keeps one blank line of many", () => {
  expect(foldBlankLines("a\n\nb\n \n\t\n\nc\n")).toBe("a\n\nb\n\nc\n");
});
