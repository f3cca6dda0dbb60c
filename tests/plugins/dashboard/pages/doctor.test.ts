import { describe, expect, test } from "vitest";
import type { CheckView } from "../../../../plugins/dashboard/shared/views.ts";
import {
  findingsOf,
  findingTitle,
  fixParts,
  passedGroups,
  relatedPage,
  verdict,
} from "../../../../plugins/dashboard/pages/doctor/checks.ts";

const check = (id: string, result: CheckView["result"]): CheckView => ({
  id,
  title: `title of ${id}`,
  result,
  reason: "",
});

describe("doctor checks", () => {
  test("counts findings in words", () => {
    const verdictOf = (...results: CheckView["result"][]): string =>
      verdict(results.map((result) => check("x", result)));
    expect(verdictOf("ok")).toBe("Everything is fine");
    expect(verdictOf("ok", "failed")).toBe("1 problem");
    expect(verdictOf("warning", "failed", "failed", "warning")).toBe("2 problems and 2 warnings");
  });

  test("sorts checks into findings and groups", () => {
    const all = [
      check("token-query", "ok"),
      check("token-strength", "warning"),
      check("token-places", "ok"),
      check("port", "failed"),
      check("proxy-upgrade", "ok"),
      check("program-running", "ok"),
      check("something-new", "ok"),
    ];
    expect(findingsOf(all).map(({ id }) => id)).toEqual(["port", "token-strength"]);
    expect(passedGroups(all).map(({ name, checks }) => [name, checks.map(({ id }) => id)])).toEqual(
      [
        ["Channel", ["token-query"]],
        ["Tokens", ["token-places"]],
        ["Network", ["proxy-upgrade"]],
        ["Application", ["program-running"]],
        ["System", ["something-new"]],
      ],
    );
    expect(findingTitle(check("constructor", "failed"))).toBe("title of constructor");
    expect(relatedPage("constructor")).toBeUndefined();
  });

  test.each([
    ["doorward token rotate pico", "", ["doorward token rotate pico"]],
    ["chmod 700 a && chmod 600 b", "", ["chmod 700 a && chmod 600 b"]],
    [
      "git -C /h rm --cached a, then: doorward token rotate",
      "",
      ["git -C /h rm --cached a", "doorward token rotate"],
    ],
    [
      "change X_TOKEN and restart; doorward token rotate pico",
      "Change X_TOKEN and restart; doorward token rotate pico.",
      ["doorward token rotate pico"],
    ],
    ["name the origins", "Name the origins.", []],
    ["doorward token set pico (writes a file)", "doorward token set pico (writes a file)", []],
  ])("finds the commands in %j", (fix, text, commands) => {
    expect(fixParts(fix)).toEqual({ text, commands });
  });
});
