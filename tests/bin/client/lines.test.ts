import { Readable } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { splitLines } from "../../../bin/client/lines.ts";

async function read(
  pieces: readonly string[],
  options?: Parameters<typeof splitLines>[1],
): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of splitLines(Readable.from(pieces), options)) lines.push(line);
  return lines;
}

test("splits at LF and CRLF only", async () => {
  expect(await read(["a\rb\u2028c\u2029d\u0085e\r\n\n\r", "\nlast"])).toEqual([
    "a\rb\u2028c\u2029d\u0085e",
    "",
    "",
    "last",
  ]);
});

test("removes a byte order mark only before the first line", async () => {
  expect(await read(["", "\ufeff\ufeffa\n\ufeffb", "\ufeff"])).toEqual([
    "\ufeffa",
    "\ufeffb\ufeff",
  ]);
});

test("returns the same lines for any pieces of a text", () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: fc.constantFrom("a", "\n", "\r", "\u2028", "é") })),
      async (pieces) => {
        const expected = pieces
          .join("")
          .split("\n")
          .map((text) => text.replace(/\r$/, ""));
        if (pieces.join("").endsWith("\n") || pieces.join("") === "") expected.pop();
        expect(await read(pieces)).toEqual(expected);
      },
    ),
  ));

test("fails before an overlong line is complete", async () => {
  const options = { maxLength: 5, tooLong: () => new Error("no more") };
  expect(await read(["12345\n123", "45\n"], options)).toEqual(["12345", "12345"]);
  await expect(read(["12345\n12345", "6"], options)).rejects.toThrow("no more");
});
