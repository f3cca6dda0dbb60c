// `doorward client`: an interactive conversation, a pipe, or JSON lines for programs.
import { clientArguments, errorReason } from "../client/session.ts";
import { sanitizedJson } from "../client/text.ts";
import { UsageError, exitCodes, type CommandContext } from "./command.ts";

/** Chooses the mode: JSON with `-json`, interactive at a terminal, else a pipe. */
export async function client(context: CommandContext): Promise<number> {
  if (context.words.length > 0)
    throw new UsageError('"client" takes only options. To send one message: doorward send TEXT');
  const given = clientArguments(context);
  if (context.json) return runForPrograms(context, given);
  const isTerminal = context.stdin.isTTY && process.stdout.isTTY && context.env["TERM"] !== "dumb";
  if (isTerminal) return (await import("../client/chat.ts")).chat(context, given);
  return (await import("../client/piped.ts")).runPiped(context, given);
}

async function runForPrograms(
  context: CommandContext,
  given: ReturnType<typeof clientArguments>,
): Promise<number> {
  const { runJson } = await import("../client/json.ts");
  try {
    return await runJson(context, given);
  } catch (error) {
    const { code, message } = errorReason(error);
    context.out(`${sanitizedJson({ type: "error", payload: { code, message } })}\n`);
    return exitCodes.failed;
  }
}
