// Checks the messages that chat pages offer to send.
import type { Log } from "../../kernel/index.ts";
import { channelsErrors } from "./errors.ts";
import type { Address } from "./contract.ts";

const maxSuggestions = 4;
const maxLength = 80;

const isSuggestion = (text: unknown): text is string =>
  typeof text === "string" && text.trim() !== "" && text.length <= maxLength;

/** @throws suggestions_invalid if there are too many, or one is too long or blank. */
export function assertSuggestions(suggestions: readonly string[]): void {
  if (!Array.isArray(suggestions) || suggestions.length > maxSuggestions)
    throw channelsErrors.suggestions_invalid(`a list of at most ${maxSuggestions} texts`);
  if (!suggestions.every(isSuggestion))
    throw channelsErrors.suggestions_invalid(`texts of 1 to ${maxLength} characters`);
}

/** @returns The valid suggestions of an answer. The log says how many are left out. */
export function keepSuggestions(
  given: unknown,
  { channel, session, id }: Address & { readonly id: string },
  log: Log,
): readonly string[] {
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  const kept = list.filter(isSuggestion).slice(0, maxSuggestions);
  const leftOut = list.length - kept.length;
  const bounds = `at most ${maxSuggestions}, each of 1 to ${maxLength} characters`;
  const text = `suggestions of an answer are left out: ${bounds}`;
  if (leftOut > 0) log.warn({ channel, session, id, leftOut }, text);
  return kept;
}
