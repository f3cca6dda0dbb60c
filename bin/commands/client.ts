import { clientArguments, reasonOf } from "../client/options.ts";
import { plainJson } from "../client/text.ts";
import { UsageError } from "../usage.ts";
import { exit, type Call } from "./command.ts";

/** `doorward client`: for people at a terminal, for pipes, and with `-json` for programs. */
export async function client(call: Call): Promise<number> {
  if (call.words.length > 0)
    throw new UsageError('"client" takes options only; "send" takes a text');
  const given = clientArguments(call);
  if (call.json) return forPrograms(call, given);
  const isTerminal = call.stdin.isTTY && process.stdout.isTTY && call.env["TERM"] !== "dumb";
  if (isTerminal) return (await import("../client/chat.ts")).chat(call, given);
  return (await import("../client/piped.ts")).piped(call, given);
}

async function forPrograms(call: Call, given: ReturnType<typeof clientArguments>): Promise<number> {
  const { json } = await import("../client/json.ts");
  try {
    return await json(call, given);
  } catch (error) {
    const { code, message } = reasonOf(error);
    call.out(`${plainJson({ type: "error", payload: { code, message } })}\n`);
    return exit.failed;
  }
}
