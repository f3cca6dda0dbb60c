// Texts of markdown that are expensive to lex, to highlight or to draw.
import fc from "fast-check";

const languages = ["js", "ts", "python", "json", "bash", "diff", "xml", "yaml"];

const fill = (unit: string, length: number): string =>
  unit.repeat(Math.ceil(length / unit.length)).slice(0, length);

const deepList = (length: number): string => {
  const levels = Math.floor(Math.sqrt(length));
  return Array.from({ length: levels }, (_, at) => `${" ".repeat(2 * at)}- a\n`).join("");
};

/** Texts of this length, by what is expensive about them. */
export const expensiveTexts = (length: number): Readonly<Record<string, string>> => ({
  "quotes in quotes": fill("> ", length),
  "quotes and lists in each other": fill("> - ", length),
  "open marks": fill("*a_", length),
  "letters of code": `\`\`\`js\n${fill("a", length)}`,
  "lists in lists": deepList(length),
  "lists on one line": fill("- ", length),
  "a word from right to left after each word": fill("א b ", length),
  "many paragraphs": fill("a b\n\n", length),
  "many items": fill("- a\n", length),
  "a long table": `|a|b|\n|-|-|\n${fill("|a|b|\n", length)}`,
  brackets: fill("[", length),
  "open folded parts": fill("<details>\n", length),
  "folded parts in a line": fill("<details></details>", length),
  "open folded parts before a long text": fill("<details>\n", 9_000) + fill("a\n", length),
  footnotes: fill("[^1]: [^1]\n", length),
  "marks of footnotes": `[^1]: a\n\n${fill("[^1]", length)}`,
  backslashes: fill("\\*", length),
  "backslashes of backslashes": fill("\\", length),
  "backslashes as plain text": fill("- a\n", 8_000) + fill("\\", length),
  "a word of letters with kerning": fill("AV", length),
  "an item of rules with many lines": fill("  - ", 29_012) + fill("[a]: b\n![    )", length),
  "code in many items": fill("*     a\n", length),
});

const marks = [
  ...["> ", "- ", "1. ", "  - ", "    ", "# ", "* ", "*a_", "**", "_", "~~", "`", "``", "[", "]("],
  ...[")", "![", "<", "<a ", "<!--", "|", "|-|-|\n", "\n", "\n\n", "```\n", "~~~\n", "\\", "&amp;"],
  ...[
    "http://a.b ",
    "a@b.c ",
    "a",
    "word ",
    "א ",
    "漢",
    "😀",
    "\u0301",
    "- [ ] ",
    "---\n",
    "<details>\n",
    "<summary>a</summary>",
    "</details>\n",
    "[^1]",
    "[^1]: a\n",
    "[a]: b\n",
  ],
  ...languages.map((language) => `\`\`\`${language}\n`),
];

/** Repeats short sequences of marks, up to this length. */
export const markdownTexts = (length: number): fc.Arbitrary<string> => {
  const unit = fc.array(fc.constantFrom(...marks), { minLength: 1, maxLength: 5 });
  const part = fc
    .tuple(unit, fc.integer({ min: 1, max: length }))
    .map(([pieces, size]) => fill(pieces.join(""), size));
  return fc
    .array(part, { minLength: 1, maxLength: 4 })
    .map((parts) => parts.join("").slice(0, length));
};
