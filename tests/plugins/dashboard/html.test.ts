import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { html, toText, type HtmlPart } from "../../../plugins/dashboard/pages/html.ts";

const entities: Record<string, string> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
};
const decoded = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|#39);/g, (entity) => entities[entity] ?? "");

describe("html", () => {
  test("escapes any text so that it stays text", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        fc.string({ unit: fc.constantFrom(..."<>\"'&;#x=/ a") }),
        (a, b) => {
          const [left = "", right = ""] = toText(html`${a}|${b}`).split(/\|(?=[^|]*$)/);
          expect(left + right).not.toMatch(/[<>"']/);
          expect(decoded(toText(html`${a}`))).toBe(a);
          expect(decoded(right)).toBe(b);
          expect(toText(html`${b}`)).not.toMatch(/&(?!(amp|lt|gt|quot|#39);)/);
        },
      ),
      { numRuns: 300 },
    );
  });

  test("keeps a value inside a quoted attribute", () => {
    fc.assert(
      fc.property(fc.string(), (value) => {
        expect(toText(html`<a title="${value}">`)).toMatch(/^<a title="[^"<>]*">$/);
      }),
    );
  });

  test("leaves nested markup of html unescaped", () => {
    const item = (text: string) => html`<li>${text}</li>`;
    expect(toText(html`<ul>${[item("a<b"), [item("&")]]}</ul>`)).toBe(
      "<ul><li>a&lt;b</li><li>&amp;</li></ul>",
    );
  });

  test("renders null, undefined and false as nothing, zero as 0", () => {
    expect(toText(html`a${null}b${undefined}c${false}d${0}e${""}f`)).toBe("abcd0ef");
  });

  test("does not accept parsed JSON as markup", () => {
    const forged = JSON.parse('{"safe markup":"<script>","text":"<script>"}') as HtmlPart;
    expect(() => toText(html`${forged}`)).toThrow(TypeError);
  });
});
