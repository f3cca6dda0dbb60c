// Tells misspelt token names from names of channels that a plugin adds.
import { join } from "node:path";
import { didYouMean } from "../../kernel/index.ts";
import { readJson } from "../../lib/files/index.ts";
import { isObject } from "../../lib/util.ts";
import type { CommandContext } from "./command.ts";

const ownNames = ["launcher", "pico", "metrics", "pico_client", "openai", "ai_sdk", "ag_ui"];

/** Names of tokens that Doorward, or a channel in `config.json`, uses. */
async function knownNames(home: string): Promise<ReadonlySet<string>> {
  const channels = (await readJson(join(home, "config.json")))?.value["channels"];
  return new Set([...ownNames, ...(isObject(channels) ? Object.keys(channels) : [])]);
}

/**
 * Looks for the known name that the user probably meant.
 *
 * @returns Undefined for a known name; for an unknown one ` Did you mean "…"?`, or an empty string
 *   if no known name is close.
 */
export async function hintForUnknown(
  { home }: CommandContext,
  name: string,
): Promise<string | undefined> {
  const known = await knownNames(home);
  return known.has(name) ? undefined : didYouMean(name, known);
}
