import { clientArguments, errorReason } from "../client/session.ts";
import { sanitizedJson } from "../client/text.ts";
import { UsageError, exitCodes, type CommandContext } from "./command.ts";

/** `doorward client`: for people at a terminal, for pipes, and with `-json` for programs. */
export async function client(call: CommandContext): Promise<number> {
  if (call.words.length > 0)
    throw new UsageError('"client" takes options only; "send" takes a text');
  const given = clientArguments(call);
  if (call.json) return runForPrograms(call, given);
  const isTerminal = call.stdin.isTTY && process.stdout.isTTY && call.env["TERM"] !== "dumb";
  if (isTerminal) return (await import("../client/chat.ts")).chat(call, given);
  return (await import("../client/piped.ts")).runPiped(call, given);
}

async function runForPrograms(
  call: CommandContext,
  given: ReturnType<typeof clientArguments>,
): Promise<number> {
  const { runJson } = await import("../client/json.ts");
  try {
    return await runJson(call, given);
  } catch (error) {
    const { code, message } = errorReason(error);
    call.out(`${sanitizedJson({ type: "error", payload: { code, message } })}\n`);
    return exitCodes.failed;
  }
}
