// `doorward client` without a terminal: reads messages from standard input, line by line.
import { randomUUID } from "node:crypto";
import type { ClientSession, SessionOptions } from "./session.ts";
import { openClientSession, errorReason, type ClientArguments } from "./session.ts";
import { exitCodes, type CommandContext } from "../commands/command.ts";
import { ReplyTracker, runConversation } from "./expectation.ts";
import { assumedSentence, begunSentence } from "./incomplete.ts";
import { whenReaderGone } from "./lines.ts";
import { ShownQuestions } from "./question-text.ts";
import { replyText, sanitizeLine } from "./text.ts";

/** Sends each input line as a message and prints the replies. */
export async function runPiped(context: CommandContext, options: ClientArguments): Promise<number> {
  const tracker = new ReplyTracker(options.timeoutMs, () => session.link.reportsEnds());
  const { incomplete } = tracker;
  const say = (text: string): void => context.say(`doorward: ${text}\n`);
  const questions = new ShownQuestions((line) => context.say(`${line}\n`));
  let failures = 0;
  const sessionOptions: SessionOptions = {
    ...options,
    notice: say,
    onReply: (message) => {
      if (questions.has(message.id)) return;
      context.out(`${replyText(message)}\n`);
      tracker.replied(message.inReplyTo);
    },
    handlers: {
      onFrame: tracker.frame,
      onUpdate(message) {
        questions.learn(message.toolCalls);
        if (questions.has(message.id)) return tracker.activity();
        tracker.updated(message);
        if (message.assumed) say(assumedSentence(options.silenceMs));
      },
      onRemoved: incomplete.removed,
      onQuestion(question) {
        tracker.activity();
        questions.changed(question);
      },
      onTyping: tracker.activity,
      onEnd: ({ requestId }) => tracker.ended(requestId),
      onState({ to, reason, retryInMs = 0, attempt }) {
        if (to === "waiting" && attempt === 1) {
          const seconds = Math.ceil(retryInMs / 1_000);
          say(`no connection (${sanitizeLine(reason)}); reconnecting in ${seconds} s`);
        }
      },
    },
  };
  const readerGone = whenReaderGone(process.stdout);
  const session = await openClientSession(context, sessionOptions);

  async function send({ link }: ClientSession, content: string): Promise<void> {
    const id = randomUUID();
    tracker.sent(id);
    try {
      await link.send({ content, id });
      tracker.settled(id, true);
    } catch (error) {
      failures++;
      const text = sanitizeLine(content.length > 60 ? `${content.slice(0, 60)}…` : content);
      const { code, message } = errorReason(error);
      // The session has ended, and its reason follows.
      const reason = code === "not_running" ? "" : ` (${sanitizeLine(message)})`;
      say(`not delivered: "${text}"${reason}`);
      tracker.settled(id, false);
    }
  }
  const handleLine = (line: string): Promise<void> | undefined =>
    line.trim() === "" ? undefined : send(session, line);
  const outcome = await runConversation({ context, session, tracker, readerGone }, handleLine);
  if (outcome === undefined) return exitCodes.done;
  const begun = incomplete.begun();
  for (const reply of begun) {
    context.out(`${replyText(reply)}\n`);
    say(begunSentence);
  }
  const isIncomplete = begun.length > 0 || incomplete.assumed();
  if (typeof outcome === "object") {
    if (outcome.exit !== exitCodes.done) say(sanitizeLine(outcome.sentence));
    return outcome.exit || (isIncomplete ? exitCodes.incomplete : exitCodes.done);
  }
  const missing = outcome - begun.length;
  if (missing > 0)
    say(`no reply to ${missing} of the messages within ${options.timeoutMs / 1_000} s`);
  if (missing > 0 || failures > 0) return exitCodes.failed;
  if (tracker.isAnswering()) say(begunSentence);
  return isIncomplete || tracker.isAnswering() ? exitCodes.incomplete : exitCodes.done;
}
