import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { safeRedirectPath } from "../../plugins/dashboard/server/auth/sign-in.ts";
import { runs } from "../support/runs.ts";

const HERE = "http://door.example:18800";
/** Parts of addresses that lead to another origin. */
const piece = fc.constantFrom(
  "/",
  "//",
  "\\",
  ".",
  "..",
  "%2e",
  "%2f",
  "%5c",
  "%00",
  "\t",
  "\n",
  "\r",
  "\0",
  " ",
  "@",
  ":",
  "?",
  "#",
  "&",
  "=",
  "[",
  "]",
  "evil.example",
  "http:",
  "https://",
  "javascript:",
  "a",
  "login",
  "setup",
  "logout",
  "api",
  "token=x",
  "door",
  "\u2028",
  "\u0085",
  "\ufeff",
  "／",
  "。",
);
const input = fc.oneof(
  fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join("")),
  fc.array(piece, { maxLength: 12 }).map((pieces) => `/${pieces.join("")}`),
  fc.string({ unit: "binary" }),
  fc.string({ unit: "binary" }).map((text) => `/${text}`),
  fc.webUrl(),
  fc.webPath(),
  fc.anything(),
);

describe("redirect target after sign-in", () => {
  test.each(["", "/door"])("stays on this origin and below the base path %j", (base) => {
    fc.assert(
      fc.property(input, (given) => {
        const next = safeRedirectPath(given);
        expect(next).toMatch(/^\/(?![/\\])[\x21-\x7e]*$/);
        const resolved = new URL(base + next, `${HERE}/login`);
        expect(resolved.origin).toBe(HERE);
        expect(resolved.pathname.startsWith(base)).toBe(true);
        expect(resolved.pathname.slice(base.length)).not.toMatch(
          /^\/(login|logout|setup|api)(\/|$)/,
        );
        expect(resolved.searchParams.has("token")).toBe(false);
      }),
      { numRuns: runs(3_000) },
    );
  });

  test("does not change in a second pass", () => {
    fc.assert(
      fc.property(input, (given) => {
        const next = safeRedirectPath(given);
        if (next.length <= 2_048) expect(safeRedirectPath(next)).toBe(next);
      }),
      { numRuns: runs(2_000) },
    );
  });
});
