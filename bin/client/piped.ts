import { randomUUID } from "node:crypto";
import type { Session, SessionOptions } from "./session.ts";
import { openSession } from "./session.ts";
import { exit, type Call } from "../commands/command.ts";
import { converse } from "./converse.ts";
import { createExpectation } from "./expectation.ts";
import { assumedSentence, begunSentence, createIncomplete } from "./incomplete.ts";
import { readerLeft } from "./input.ts";
import { textOf } from "./media.ts";
import { reasonOf, type ClientArguments } from "./options.ts";
import { plainLine } from "./text.ts";

/** A conversation without a terminal: a message from each line of the input, answers to the output. */
export async function piped(call: Call, given: ClientArguments): Promise<number> {
  const expected = createExpectation(given.timeoutMs);
  const incomplete = createIncomplete();
  const say = (text: string): void => call.say(`doorward: ${text}\n`);
  let failed = 0;
  const options: SessionOptions = {
    ...given,
    notice: say,
    answer: (message) => {
      call.out(`${textOf(message)}\n`);
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
            `no connection (${plainLine(reason)}); reconnecting in ${Math.ceil(retryInMs / 1_000)} s`,
          );
        }
      },
    },
  };
  const left = readerLeft(process.stdout);
  const session = await openSession(call, options);

  async function send({ link }: Session, content: string): Promise<void> {
    const id = randomUUID();
    expected.asked(id);
    try {
      await link.send({ content, id });
      expected.settled(true);
    } catch (error) {
      failed++;
      say(`not delivered: ${plainLine(reasonOf(error).message)}`);
      expected.settled(false);
    }
  }
  const take = (line: string): Promise<void> | undefined =>
    line.trim() === "" ? undefined : send(session, line);
  const outcome = await converse({ call, session, expected, left }, take);
  if (outcome === undefined) return exit.done;
  const begun = incomplete.begun();
  for (const { content } of begun) {
    call.out(`${textOf({ content, media: [] })}\n`);
    say(begunSentence);
  }
  const isIncomplete = begun.length > 0 || incomplete.assumed();
  if (typeof outcome === "object") {
    if (outcome.exit !== exit.done) say(plainLine(outcome.sentence));
    return outcome.exit || (isIncomplete ? exit.incomplete : exit.done);
  }
  const missing = outcome - begun.length;
  if (missing > 0)
    say(`no answer to ${missing} of the messages within ${given.timeoutMs / 1_000} s`);
  if (missing > 0 || failed > 0) return exit.failed;
  return isIncomplete ? exit.incomplete : exit.done;
}
