// Decides when a conversation without a terminal is over.
import type { CommandContext } from "../commands/command.ts";
import type { ChatMessage } from "../../lib/pico-link/index.ts";
import type { ExitStatus } from "./exit-status.ts";
import { forEachLine } from "./lines.ts";
import { IncompleteReplies } from "./incomplete.ts";
import { PlainTurns } from "./plain-turns.ts";
import type { ClientSession } from "./session.ts";

/** Time after the last expected reply, since one reply may be several messages. */
const lingerMs = 300;

/**
 * Waits for the answers to all messages: the input has ended, every message was accepted or
 * rejected, and each accepted one has a reply and its end, if the server reports ends. Gives up
 * after `timeoutMs` without activity.
 */
export class ReplyTracker {
  /** Resolves with the number of messages without a reply. */
  readonly missing: Promise<number>;
  /** Replies that are not known to be complete. */
  readonly incomplete = new IncompleteReplies();
  private readonly ids = new Set<string>();
  /** Messages whose answers have not ended. */
  private readonly running = new Set<string>();
  private messages = 0;
  private replies = 0;
  private pending = 0;
  /** Messages of the present answer that were counted before the server marked an end. */
  private countedEarly = 0;
  private hasInputEnded = false;
  private isStopped = false;
  private timer: NodeJS.Timeout | undefined;
  private finish!: (missing: number) => void;
  private readonly timeoutMs: number;
  private readonly reportsEnds: () => boolean;
  private readonly turns = new PlainTurns(() => {
    if (!this.reportsEnds()) this.replies += 1 - this.countedEarly;
    this.countedEarly = 0;
    this.activity();
  });

  /**
   * @param timeoutMs - Longest wait without activity; 0: no limit.
   * @param reportsEnds - Whether the server reports the ends of answers.
   */
  constructor(timeoutMs: number, reportsEnds: () => boolean) {
    this.timeoutMs = timeoutMs;
    this.reportsEnds = reportsEnds;
    this.missing = new Promise((resolve) => {
      this.finish = resolve;
    });
  }

  sent(id: string): void {
    this.ids.add(id);
    this.running.add(id);
    this.messages++;
    this.pending++;
  }

  /** The server accepted a message, or never will. */
  settled(id: string, isAccepted: boolean): void {
    this.pending--;
    if (!isAccepted) {
      this.messages--;
      this.running.delete(id);
    }
    this.activity();
  }

  /** @param inReplyTo - Id of the message it answers, if the server says so. */
  replied(inReplyTo?: string): void {
    const isOurs = inReplyTo === undefined || this.ids.has(inReplyTo);
    // Otherwise the end of the answer counts, which may have several messages.
    const isEarly = !this.reportsEnds() && !this.turns.marksEnds();
    if (isOurs && (this.reportsEnds() || isEarly)) this.replies++;
    if (isOurs && isEarly) this.countedEarly++;
    this.activity();
  }

  /** The server reports that the answer to this message has ended. */
  ended(id: string): void {
    this.running.delete(id);
    this.activity();
  }

  /** @returns True if the end of an answer that has begun was not reported. */
  isAnswering(): boolean {
    return this.reportsEnds()
      ? this.replies > 0 && this.running.size > 0
      : this.turns.isOpen() && this.turns.marksEnds();
  }

  /** The server sent anything. */
  readonly activity = (): void => {
    clearTimeout(this.timer);
    if (this.isStopped || !this.hasInputEnded || this.timeoutMs === 0) return;
    const { messages, replies, pending } = this;
    const isComplete = pending === 0 && replies >= messages && !this.isAnswering();
    const waitMs = isComplete ? (replies > 0 ? lingerMs : 0) : this.timeoutMs;
    this.timer = setTimeout(
      () => this.finish(Math.max(this.messages - this.replies, this.pending)),
      waitMs,
    );
  };

  /** The server sent a frame, whose messages are handled afterwards. */
  readonly frame = this.turns.accept;

  /** A reply has grown or is complete. */
  updated(message: ChatMessage): void {
    this.incomplete.update(message);
    if (message.assumed === true) this.turns.assumeEnd();
    this.activity();
  }

  /** No more messages will be sent. */
  readonly inputEnded = (): void => {
    this.hasInputEnded = true;
    this.activity();
  };

  /** Cancels the timer; later calls start none. */
  readonly stop = (): void => {
    this.isStopped = true;
    clearTimeout(this.timer);
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
