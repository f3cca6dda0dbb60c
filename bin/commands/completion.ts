// doorward completion: prints a completion script, which the build has written.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { exitCodes, printJson, UsageError, type CommandContext } from "./command.ts";

export async function completion(context: CommandContext): Promise<number> {
  const [shell = "", ...others] = context.words;
  if (others.length > 0 || !["bash", "zsh", "fish"].includes(shell))
    throw new UsageError("Name a shell: doorward completion bash, zsh or fish");
  const manifest = createRequire(import.meta.url).resolve("doorward/package.json");
  const script = await readFile(join(manifest, "..", "dist", "completion", shell), "utf8");
  if (context.json) printJson(context, { script });
  else context.out(script);
  return exitCodes.done;
}
