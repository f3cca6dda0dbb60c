import type { Call } from "../commands/command.ts";
import type { Expectation } from "./expectation.ts";
import type { Fate } from "./fate.ts";
import { eachLine } from "./input.ts";
import type { Session } from "./session.ts";

interface Conversation {
  readonly call: Call;
  readonly session: Session;
  readonly expected: Expectation;
  /** Nobody reads the output any more. */
  readonly left: Promise<void>;
}

/** Takes each line of the input until nothing more is to come, and closes the session. Answers how many questions have
 *  no answer, why the session ended before, or nothing when nobody reads the output. Rejects at a line that is too
 *  long. */
export async function converse(
  { call, session, expected, left }: Conversation,
  take: (line: string) => Promise<void> | undefined,
): Promise<number | Fate | undefined> {
  const over: Promise<Fate | undefined> = Promise.race([session.ended, left.then(() => undefined)]);
  const read = eachLine(call.stdin, take, over).then(expected.close);
  const outcome = await Promise.race([over, read.then(() => expected.missing)])
    .finally(expected.end)
    .finally(() => session.close());
  call.stdin.destroy();
  return outcome;
}
