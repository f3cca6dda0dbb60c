import { hint } from "../../kernel/index.ts";

/** To follow a sentence about a word that is none of these: the nearest one, else all of them. */
export function choice(word: string, known: readonly string[]): string {
  return hint(word, known) || ` Known: ${known.join(", ")}.`;
}
