import { describe, expect, test } from "vitest";
import { linesThat, sources } from "./source.ts";

/* The policy of the pages blocks HTML strings (trusted-types 'none') and style attributes. */

const components = sources().filter(({ path }) => path.startsWith("plugins/dashboard/pages/"));
const linesWith = (pattern: RegExp): string[] =>
  components.flatMap(({ path, code }) => linesThat((line) => pattern.test(line), path, code));

describe("components of the console", () => {
  test("create no markup from strings", () => {
    const parsers =
      /\b(innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML(?!=\{\{ __html: "" \}\})|srcdoc)\b/i;
    expect(linesWith(parsers)).toEqual([]);
    expect(linesWith(/\bdocument\.write|\bDOMParser\b|createContextualFragment/)).toEqual([]);
  });

  test("have no style attributes", () => {
    expect(linesWith(/\sstyle=\{?|setAttribute\("style"/)).toEqual([]);
  });

  test("exist in the folder of the console", () => {
    expect(components.length).toBeGreaterThan(20);
  });
});
