// Checks the tables of OWASP ASVS 5.0 in docs/asvs.md: every requirement of levels 1 and 2 of
// these sections has one row.
import { describe, expect, test } from "vitest";
import { projectFiles, read, tableRows } from "./source.ts";

/** Section -> number of its last requirement, and those of level 3 in it. */
const sections: readonly (readonly [
  section: string,
  last: number,
  levelThree?: readonly number[],
])[] = [
  ["3.3", 5, [5]],
  ["4.4", 4],
  ["5.1", 1],
  ["5.2", 6, [4, 5, 6]],
  ["5.3", 3, [3]],
  ["5.4", 3],
  ["6.1", 3],
  ["6.2", 12],
  ["6.3", 8, [5, 6, 7, 8]],
  ["6.4", 6, [5, 6]],
  ["6.5", 8, [6, 7, 8]],
  ["6.6", 4, [4]],
  ["7.1", 3],
  ["7.2", 4],
  ["7.3", 2],
  ["7.4", 5],
  ["7.5", 3, [3]],
  ["7.6", 2],
  ["9.1", 3],
  ["9.2", 4],
  ["12.1", 5, [4, 5]],
  ["12.2", 2],
  ["12.3", 5, [5]],
  ["16.1", 1],
  ["16.2", 5],
  ["16.3", 4],
  ["16.4", 3],
  ["16.5", 4, [4]],
];
const expected = [
  ...sections.flatMap(([section, last, levelThree = []]) =>
    Array.from({ length: last }, (_, at) => at + 1)
      .filter((number) => !levelThree.includes(number))
      .map((number) => `${section}.${number}`),
  ),
  "6.8.1 to 6.8.4",
];
const text = read("docs/asvs.md");
const rows = tableRows(text, "requirement");

describe("docs/asvs.md: OWASP ASVS", () => {
  test("has one row for each requirement", () => {
    expect(rows.map(([id]) => id).sort()).toEqual(expected.sort());
  });

  test("names tests that exist", () => {
    const named = [...text.matchAll(/`(tests\/[^`]+\.test\.ts)`/g)].map(([, path]) => path!);
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter((path) => !projectFiles.includes(path))).toEqual([]);
  });

  test("proves a met requirement by a test or a section", () => {
    for (const [id, , status, why = ""] of rows) {
      expect(["met", "not applicable", "departure"], id).toContain(status);
      if (status === "met") expect(why, id).toMatch(/`tests\/|\]\(security\.md#/);
      else expect(why.length, id).toBeGreaterThan(5);
    }
  });
});
