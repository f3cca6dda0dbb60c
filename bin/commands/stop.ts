// `doorward stop`: stops the running answer of a conversation.
import { sanitizeLine } from "../client/text.ts";
import { UsageError, exitCodes, printJson, type CommandContext } from "./command.ts";
import { askLauncher, reportNotRunning, reportRejected } from "./control-client.ts";

interface StopResponse {
  /** Sessions in which an answer runs or waits. */
  readonly running: readonly string[];
  /** The session that was stopped; absent if none or several were possible. */
  readonly session?: string;
  readonly stopped: readonly { readonly id: string; readonly status: string }[];
}

const maxListed = 20;

export async function stop(context: CommandContext): Promise<number> {
  if (context.words.length > 0)
    throw new UsageError('"stop" takes only options: doorward stop -session NAME');
  const { session } = context.values;
  const body = typeof session === "string" && session !== "" ? { session } : {};
  const answer = await askLauncher<StopResponse>(context, "POST", "stop", body);
  if (!answer) return reportNotRunning(context);
  if (answer.status !== 200) return reportRejected(context, answer.body);
  if (context.json) printJson(context, answer.body);
  return report(context, answer.body);
}

function report(context: CommandContext, response: StopResponse): number {
  const { running, session, stopped } = response;
  const say = (text: string): void => void (context.json || context.say(`${text}\n`));
  if (session === undefined && running.length > 1) {
    say("answers of several conversations run; name one with -session:");
    for (const name of running.slice(0, maxListed)) say(`  ${sanitizeLine(name)}`);
    if (running.length > maxListed) say(`  and ${running.length - maxListed} more`);
    return exitCodes.failed;
  }
  if (session === undefined || stopped.length === 0) {
    const where = session === undefined ? "" : ` in ${sanitizeLine(session)}`;
    say(`no answer is running${where}`);
    return exitCodes.done;
  }
  const count = stopped.length === 1 ? "1 message" : `${stopped.length} messages`;
  say(`stopped ${count} in ${sanitizeLine(session)}`);
  return exitCodes.done;
}
