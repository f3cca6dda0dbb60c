import type { CommandContext } from "../commands/command.ts";
import type { ReplyTracker } from "./expectation.ts";
import type { ExitStatus } from "./fate.ts";
import { forEachLine } from "./input.ts";
import type { ClientSession } from "./session.ts";

interface ConversationOptions {
  readonly call: CommandContext;
  readonly session: ClientSession;
  readonly expected: ReplyTracker;
  /** Nobody reads the output any more. */
  readonly left: Promise<void>;
}

/** Takes each line of the input until nothing more is to come, and closes the session. Answers how many questions have
 *  no answer, why the session ended before, or nothing when nobody reads the output. Rejects at a line that is too
 *  long. */
export async function runConversation(
  { call, session, expected, left }: ConversationOptions,
  take: (line: string) => Promise<void> | undefined,
): Promise<number | ExitStatus | undefined> {
  const over: Promise<ExitStatus | undefined> = Promise.race([
    session.ended,
    left.then(() => undefined),
  ]);
  const read = forEachLine(call.stdin, take, over).then(expected.close);
  const outcome = await Promise.race([over, read.then(() => expected.missing)])
    .finally(expected.end)
    .finally(() => session.close());
  call.stdin.destroy();
  return outcome;
}
