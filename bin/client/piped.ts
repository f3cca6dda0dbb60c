import { randomUUID } from "node:crypto";
import type { ClientSession, SessionOptions } from "./session.ts";
import { openClientSession, errorReason, type ClientArguments } from "./session.ts";
import { exitCodes, type CommandContext } from "../commands/command.ts";
import { runConversation, createReplyTracker } from "./expectation.ts";
import { assumedSentence, begunSentence, createIncomplete } from "./incomplete.ts";
import { whenReaderGone } from "./lines.ts";
import { replyText, sanitizeLine } from "./text.ts";

/** A conversation without a terminal: a message from each line of the input, answers to the output. */
export async function runPiped(context: CommandContext, given: ClientArguments): Promise<number> {
  const expected = createReplyTracker(given.timeoutMs);
  const incomplete = createIncomplete();
  const say = (text: string): void => context.say(`doorward: ${text}\n`);
  let failed = 0;
  const options: SessionOptions = {
    ...given,
    notice: say,
    answer: (message) => {
      context.out(`${replyText(message)}\n`);
      expected.answered(message.inReplyTo);
    },
    hear: {
      onUpdate(message) {
        incomplete.update(message);
        expected.sign();
        if (message.assumed) say(assumedSentence(given.silenceMs));
      },
      onRemoved: incomplete.removed,
      onTyping: expected.sign,
      onState({ to, reason, retryInMs = 0, attempt }) {
        if (to === "waiting" && attempt === 1) {
          say(
            `no connection (${sanitizeLine(reason)}); reconnecting in ${Math.ceil(retryInMs / 1_000)} s`,
          );
        }
      },
    },
  };
  const left = whenReaderGone(process.stdout);
  const session = await openClientSession(context, options);

  async function send({ link }: ClientSession, content: string): Promise<void> {
    const id = randomUUID();
    expected.asked(id);
    try {
      await link.send({ content, id });
      expected.settled(true);
    } catch (error) {
      failed++;
      say(`not delivered: ${sanitizeLine(errorReason(error).message)}`);
      expected.settled(false);
    }
  }
  const take = (line: string): Promise<void> | undefined =>
    line.trim() === "" ? undefined : send(session, line);
  const outcome = await runConversation({ call: context, session, expected, left }, take);
  if (outcome === undefined) return exitCodes.done;
  const begun = incomplete.begun();
  for (const { content } of begun) {
    context.out(`${replyText({ content, media: [] })}\n`);
    say(begunSentence);
  }
  const isIncomplete = begun.length > 0 || incomplete.assumed();
  if (typeof outcome === "object") {
    if (outcome.exit !== exitCodes.done) say(sanitizeLine(outcome.sentence));
    return outcome.exit || (isIncomplete ? exitCodes.incomplete : exitCodes.done);
  }
  const missing = outcome - begun.length;
  if (missing > 0)
    say(`no answer to ${missing} of the messages within ${given.timeoutMs / 1_000} s`);
  if (missing > 0 || failed > 0) return exitCodes.failed;
  return isIncomplete ? exitCodes.incomplete : exitCodes.done;
}
