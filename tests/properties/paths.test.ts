import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { stripBasePath, parseTarget } from "../../plugins/http/requests.ts";
import { runs } from "../support/runs.ts";

const piece = fc.constantFrom(
  "/",
  "/",
  ".",
  "..",
  "%2e",
  "%2E%2e",
  "a",
  "%61",
  "api",
  "%2f",
  "%5C",
  "\\",
  "%25",
  "~",
  "%C3%A4",
  ";",
  "%zz",
  "%ff",
);
const target = fc.array(piece, { maxLength: 12 }).map((pieces) => `/${pieces.join("")}`);

describe("request target paths", () => {
  test("gives each path one spelling without dot or empty segments", () =>
    fc.assert(
      fc.property(target, (text) => {
        const path = parseTarget(text)?.path;
        if (path === undefined) {
          expect(text).toMatch(/%zz|%ff/);
          return;
        }
        expect(parseTarget(path)?.path).toBe(path);
        const decoded = path.slice(1).split("/").map(decodeURIComponent);
        expect(
          decoded
            .slice(0, -1)
            .every((segment) => segment !== "" && segment !== "." && segment !== ".."),
        ).toBe(true);
        expect(decoded.at(-1)).not.toMatch(/^\.{1,2}$/);
        expect(path).not.toMatch(/[\\<>"\s]/);
      }),
      { numRuns: runs(2_000) },
    ));

  test("keeps paths outside the base path outside, in any spelling", () =>
    fc.assert(
      fc.property(target, (text) => {
        const path = parseTarget(`/door${text}`)?.path;
        if (path === undefined) return;
        const rest = stripBasePath("/door", path);
        expect(rest === undefined).toBe(path !== "/door" && !path.startsWith("/door/"));
        if (rest !== undefined) expect(rest.startsWith("/")).toBe(true);
      }),
      { numRuns: runs(1_000) },
    ));
});
