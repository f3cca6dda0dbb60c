/** Compares names as a reader sees them, whatever their capitals and hidden characters. */

/** Letters and digits of keys, each with letters of other scripts that look like it. */
const lookAlikes: readonly (readonly [letter: string, others: string])[] = [
  ["a", "аɑαᴀ"],
  ["b", "ьβʙ"],
  ["c", "сϲᴄ"],
  ["d", "ԁɗ"],
  ["e", "еєεҽᴇ"],
  ["f", "ƒғ"],
  ["g", "ɡԍց"],
  ["h", "һнհʜ"],
  ["i", "іıιɩӏї"],
  ["j", "јϳ"],
  ["k", "кκĸᴋ"],
  ["l", "ⅼǀʟ"],
  ["m", "мᴍ"],
  ["n", "пոηɴ"],
  ["o", "оοσօᴏ0"],
  ["p", "рρᴘ"],
  ["q", "ԛգ"],
  ["r", "гᴦʀ"],
  ["s", "ѕꜱ"],
  ["t", "тτᴛ"],
  ["u", "υսᴜц"],
  ["v", "ѵνᴠ"],
  ["w", "ѡԝωᴡ"],
  ["x", "хχ"],
  ["y", "уγүʏ"],
  ["z", "ᴢʐ"],
];
const letterOf: ReadonlyMap<string, string> = new Map(
  lookAlikes.flatMap(([letter, others]) => Array.from(others, (other) => [other, letter] as const)),
);

/** White space, characters that are not drawn, controls, and accents of another letter. */
const undrawn = /[\s\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{M}\u2800]/gu;

/** @returns The text without hidden characters, in small Latin letters where they look alike. */
export const foldLookAlikes = (text: string): string =>
  Array.from(
    text.normalize("NFKD").toLowerCase().replace(undrawn, ""),
    (letter) => letterOf.get(letter) ?? letter,
  ).join("");

/** @returns The known name that a reader would take `name` for; undefined if it is known itself. */
export function lookAlikeOf(name: string, known: Iterable<string>): string | undefined {
  const names = [...known];
  if (names.includes(name)) return undefined;
  const folded = foldLookAlikes(name);
  return names.find((other) => foldLookAlikes(other) === folded);
}
