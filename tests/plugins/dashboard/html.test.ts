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
  test("any text comes out as text: no character of it can open a tag, an attribute or an entity", () => {
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

  test("a value in a quoted attribute cannot leave it", () => {
    fc.assert(
      fc.property(fc.string(), (value) => {
        expect(toText(html`<a title="${value}">`)).toMatch(/^<a title="[^"<>]*">$/);
      }),
    );
  });

  test("markup made by html is not escaped again, however deeply it is nested", () => {
    const item = (text: string) => html`<li>${text}</li>`;
    expect(toText(html`<ul>${[item("a<b"), [item("&")]]}</ul>`)).toBe(
      "<ul><li>a&lt;b</li><li>&amp;</li></ul>",
    );
  });

  test("null, undefined and false are nothing, zero is zero", () => {
    expect(toText(html`a${null}b${undefined}c${false}d${0}e${""}f`)).toBe("abcd0ef");
  });

  test("an object parsed from JSON cannot pass for markup", () => {
    const forged = JSON.parse('{"safe markup":"<script>","text":"<script>"}') as HtmlPart;
    expect(() => toText(html`${forged}`)).toThrow(TypeError);
  });
});
