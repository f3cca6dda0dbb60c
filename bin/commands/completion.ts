// doorward completion: prints a completion script. "man" prints the man page, for the build.
import { commonRows, exitCodeRows, launcherRows } from "../arguments.ts";
import { manPage } from "../completion/man-page.ts";
import { bashScript, fishScript, zshScript } from "../completion/scripts.ts";
import { vocabulary, type Vocabulary } from "../completion/vocabulary.ts";
import { exitCodes, printJson, UsageError, type Command, type CommandContext } from "./command.ts";

const scripts: Readonly<Record<string, (words: Vocabulary) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** @param commands - The table of commands, which loads this module. */
export async function completion(
  context: CommandContext,
  commands: Readonly<Record<string, Command>>,
): Promise<number> {
  const [shell = "", ...others] = context.words;
  const table = { commands, launcher: launcherRows, common: commonRows };
  const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
  if (others.length > 0 || (!script && shell !== "man"))
    throw new UsageError("Name a shell: doorward completion bash, zsh or fish");
  const text = script
    ? script(vocabulary(commands, launcherRows, commonRows))
    : manPage({ ...table, version: context.version, exitCodes: exitCodeRows });
  if (context.json) printJson(context, { script: text });
  else context.out(text);
  return exitCodes.done;
}
