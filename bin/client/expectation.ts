import type { CommandContext } from "../commands/command.ts";
import type { ExitStatus } from "./exit-status.ts";
import { forEachLine } from "./lines.ts";
import type { ClientSession } from "./session.ts";

/** After the last answer: one may come in several messages. */
const lingerMs = 300;

/** Knows when nothing more is to come: nobody will ask any more, everything was taken, and as many answers came as
 *  were asked for. Or when there was no sign of life for `timeoutMs`; 0: never. */
export interface ReplyTracker {
  asked(id: string): void;
  /** What was asked has arrived, or never will. */
  settled(isAccepted: boolean): void;
  /** An answer came; to the message of that id, where the other end says so. */
  answered(to?: string): void;
  /** Anything that came from the other end. */
  sign(): void;
  /** Nobody will ask any more. */
  close(): void;
  /** Nobody waits any more: what still comes starts no time. */
  end(): void;
  /** Questions without an answer. */
  readonly missing: Promise<number>;
}

export function createReplyTracker(timeoutMs: number): ReplyTracker {
  const ids = new Set<string>();
  let questions = 0;
  let answers = 0;
  let pending = 0;
  let isClosed = false;
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  let finish: (missing: number) => void;
  const missing = new Promise<number>((resolve) => {
    finish = resolve;
  });

  function look(): void {
    clearTimeout(timer);
    if (isOver || !isClosed || timeoutMs === 0) return;
    const isWhole = pending === 0 && answers >= questions;
    const patience = isWhole ? (answers > 0 ? lingerMs : 0) : timeoutMs;
    timer = setTimeout(() => finish(Math.max(questions - answers, pending)), patience);
  }
  return {
    missing,
    asked(id) {
      ids.add(id);
      questions++;
      pending++;
    },
    settled(isAccepted) {
      pending--;
      if (!isAccepted) questions--;
      look();
    },
    answered(to) {
      if (to === undefined || ids.has(to)) answers++;
      look();
    },
    sign: look,
    close() {
      isClosed = true;
      look();
    },
    end() {
      isOver = true;
      clearTimeout(timer);
    },
  };
}

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
