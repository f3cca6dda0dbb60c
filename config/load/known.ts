import { didYouMean } from "../../kernel/index.ts";

/** To follow a sentence about a word that is none of these: the nearest one, else all of them. */
export function suggestOneOf(word: string, known: readonly string[]): string {
  return didYouMean(word, known) || ` Known: ${known.join(", ")}.`;
}
