// Decides when a conversation without a terminal is over.
import type { CommandContext } from "../commands/command.ts";
import type { ChatMessage } from "../../lib/pico-link/index.ts";
import type { ServerFrame } from "../../lib/pico-wire/index.ts";
import type { ExitStatus } from "./exit-status.ts";
import { forEachLine } from "./lines.ts";
import { PlainTurns } from "./plain-turns.ts";
import type { ClientSession } from "./session.ts";

/** Time after the last expected reply, since one reply may be several messages. */
const lingerMs = 300;

/**
 * Waits for the answers to all messages: the input has ended, every message was accepted or
 * rejected, and each accepted one has a reply and its end, if the server reports ends. Gives up
 * after `timeoutMs` without activity.
 */
export interface ReplyTracker {
  sent(id: string): void;
  /** The server accepted a message, or never will. */
  settled(id: string, isAccepted: boolean): void;
  /** @param inReplyTo - Id of the message it answers, if the server says so. */
  replied(inReplyTo?: string): void;
  /** The server reports that the answer to this message has ended. */
  ended(id: string): void;
  /** @returns True if the end of an answer that has begun was not reported. */
  isAnswering(): boolean;
  /** The server sent anything. */
  activity(): void;
  /** The server sent a frame, whose messages are handled afterwards. */
  frame(frame: ServerFrame): void;
  /** A reply has grown or is complete. */
  updated(message: Pick<ChatMessage, "assumed">): void;
  /** No more messages will be sent. */
  inputEnded(): void;
  /** Cancels the timer; later calls start none. */
  stop(): void;
  /** Resolves with the number of messages without a reply. */
  readonly missing: Promise<number>;
}

/**
 * @param timeoutMs - Longest wait without activity; 0: no limit.
 * @param reportsEnds - Whether the server reports the ends of answers.
 */
export function createReplyTracker(timeoutMs: number, reportsEnds: () => boolean): ReplyTracker {
  const ids = new Set<string>();
  /** Messages whose answers have not ended. */
  const running = new Set<string>();
  let messages = 0;
  let replies = 0;
  let pending = 0;
  let hasInputEnded = false;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let finish: (missing: number) => void;
  const missing = new Promise<number>((resolve) => {
    finish = resolve;
  });

  function restartTimer(): void {
    clearTimeout(timer);
    if (isStopped || !hasInputEnded || timeoutMs === 0) return;
    const isComplete = pending === 0 && replies >= messages && !isAnswering();
    const waitMs = isComplete ? (replies > 0 ? lingerMs : 0) : timeoutMs;
    timer = setTimeout(() => finish(Math.max(messages - replies, pending)), waitMs);
  }
  /** Messages of the present answer that were counted before the server marked an end. */
  let countedEarly = 0;
  const turns = new PlainTurns(() => {
    if (!reportsEnds()) replies += 1 - countedEarly;
    countedEarly = 0;
    restartTimer();
  });
  const isAnswering = (): boolean =>
    reportsEnds() ? replies > 0 && running.size > 0 : turns.isOpen() && turns.marksEnds();
  return {
    missing,
    isAnswering,
    sent(id) {
      ids.add(id);
      running.add(id);
      messages++;
      pending++;
    },
    settled(id, isAccepted) {
      pending--;
      if (!isAccepted) {
        messages--;
        running.delete(id);
      }
      restartTimer();
    },
    replied(inReplyTo) {
      const isOurs = inReplyTo === undefined || ids.has(inReplyTo);
      // Otherwise the end of the answer counts, which may have several messages.
      const isEarly = !reportsEnds() && !turns.marksEnds();
      if (isOurs && (reportsEnds() || isEarly)) replies++;
      if (isOurs && isEarly) countedEarly++;
      restartTimer();
    },
    ended(id) {
      running.delete(id);
      restartTimer();
    },
    activity: restartTimer,
    frame: turns.accept,
    updated({ assumed }) {
      if (assumed === true) turns.assumeEnd();
      restartTimer();
    },
    inputEnded() {
      hasInputEnded = true;
      restartTimer();
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

interface ConversationOptions {
  readonly context: CommandContext;
  readonly session: ClientSession;
  readonly tracker: ReplyTracker;
  /** Resolves when the reader of standard output has closed it. */
  readonly readerGone: Promise<void>;
}

/**
 * Passes each input line to `handleLine`, waits for the replies and closes the session.
 *
 * @returns The number of messages without a reply; or why the session ended early; or undefined if
 *   the reader of the output has gone.
 * @throws If a line is too long.
 */
export async function runConversation(
  { context, session, tracker, readerGone }: ConversationOptions,
  handleLine: (line: string) => Promise<void> | undefined,
): Promise<number | ExitStatus | undefined> {
  const over: Promise<ExitStatus | undefined> = Promise.race([
    session.ended,
    readerGone.then(() => undefined),
  ]);
  const read = forEachLine(context.stdin, handleLine, over).then(tracker.inputEnded);
  const outcome = await Promise.race([over, read.then(() => tracker.missing)])
    .finally(tracker.stop)
    .finally(() => session.close());
  context.stdin.destroy();
  return outcome;
}
