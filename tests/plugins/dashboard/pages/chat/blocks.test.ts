// Tests that markdown is lexed the same in pieces and as a whole.
import fc from "fast-check";
import { lexer, type Token } from "marked";
import { describe, expect, test } from "vitest";
import { createBlockLexer } from "../../../../../plugins/dashboard/pages/chat/markdown/blocks.ts";

const read = () => createBlockLexer((text) => lexer(text));
const withoutSpace = (tokens: readonly Token[]) => tokens.filter(({ type }) => type !== "space");
const whole = (text: string) => withoutSpace(lexer(text));
const tokensOf = (blocks: readonly { readonly token: Token }[]) => blocks.map(({ token }) => token);

const pieces = [
  ...["\n\n", "\n\n", "x\n\n", "a", "b c", "\n", "\n\n\n", "\r\n", "\r", " ", "  ", "    ", "\t"],
  ...["- ", "* ", "+ ", "1. ", "2. ", "10) ", "1", "-", "- [ ] ", "> ", "# ", "---", "==="],
  ...["```", "~~~", "```js", "`", "|", "a | b", "--|--", "<div>", "</div>", "<!-- ", "-->"],
  ...["<pre>", "<b>", "**", "_", "[x](y)", "![i](u)", "http://a.b", "\\", "&amp;"],
];

describe("createBlockLexer", () => {
  test("gives the tokens of the whole text, however it grows", () => {
    const texts = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 30 });
    const steps = fc.array(fc.nat(5), { maxLength: 60 });
    fc.assert(
      fc.property(texts, steps, (parts, sizes) => {
        const text = parts.join("");
        const reader = read();
        let length = 0;
        for (const size of sizes) reader.read(text.slice(0, (length += size + 1)));
        expect(tokensOf(reader.read(text))).toEqual(whole(text));
      }),
      { numRuns: 2_000 },
    );
  });

  test("keeps key and token of finished blocks", () => {
    const reader = read();
    const before = reader.read("# Plan\n\nOne\n\n- a\n- b\n\nTwo\n");
    const after = reader.read("# Plan\n\nOne\n\n- a\n- b\n\nTwo\nand more");
    expect(after.map(({ key }) => key)).toEqual(before.map(({ key }) => key));
    expect(after.slice(0, 3).map(({ token }, at) => token === before[at]!.token)).toEqual([
      true,
      true,
      true,
    ]);
  });

  test("keeps a list open while its next item is incomplete", () => {
    const reader = read();
    expect(reader.read("1. a\n\n2").map(({ token }) => token.type)).toEqual(["list", "paragraph"]);
    expect(tokensOf(reader.read("1. a\n\n2. b"))).toEqual(whole("1. a\n\n2. b"));
  });

  test("reads an open fence as code", () => {
    expect(tokensOf(read().read("```js\nlet a"))).toMatchObject([{ type: "code", text: "let a" }]);
  });

  test("applies definitions of links to earlier blocks", () => {
    const text = "See [docs].\n\nMore\n\n[docs]: https://example.org\n";
    const reader = read();
    reader.read(text.slice(0, 20));
    expect(JSON.stringify(reader.read(text)[0])).toContain('"type":"link"');
  });

  test("starts again with another text", () => {
    const reader = read();
    reader.read("One\n\nTwo\n\nThree\n");
    expect(tokensOf(reader.read("Other\n\ntext"))).toEqual(whole("Other\n\ntext"));
  });
});
