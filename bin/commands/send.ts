import { randomUUID } from "node:crypto";
import { assumedSentence, begunSentence, createIncomplete } from "../client/incomplete.ts";
import { replyText, sanitizeLine } from "../client/text.ts";
import {
  clientArguments,
  errorReason,
  openClientSession,
  type SessionOptions,
} from "../client/session.ts";
import type { Message } from "../../plugins/channels/index.ts";
import { UsageError, exitCodes, printJson, type CommandContext } from "./command.ts";

const maxStdinBytes = 1024 * 1024;

async function messageText({ words, stdin }: CommandContext): Promise<string> {
  const [only = "", ...more] = words;
  if (only === "" || more.length > 0) {
    throw new UsageError('"send" takes one text in quotation marks, or - for standard input');
  }
  if (only !== "-") return only;
  let text = "";
  for await (const chunk of stdin.setEncoding("utf8")) {
    text += String(chunk);
    if (text.length > maxStdinBytes)
      throw new UsageError("standard input is longer than a message can be: 1 MiB");
  }
  if (text.trim() === "")
    throw new UsageError('"send -" reads the message from standard input; it was empty');
  return text.replace(/^\ufeff|\r?\n$/g, ""); // as PowerShell writes them
}

/** `doorward send "text"`: one message, its answer, the end. */
export async function send(context: CommandContext): Promise<number> {
  const given = clientArguments(context);
  const content = await messageText(context);
  const { timeoutMs } = given;
  const remark = (text: string): void => context.say(`doorward: ${text}\n`);
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  let late: () => void;
  const tooLate = new Promise<"late">((resolve) => {
    late = () => resolve("late");
  });
  const wait = (): void => {
    clearTimeout(timer);
    if (timeoutMs > 0 && !isOver) timer = setTimeout(late, timeoutMs);
  };
  const id = randomUUID();
  let tell: (answer: Message) => void;
  const answered = new Promise<Message>((resolve) => {
    tell = resolve;
  });
  const incomplete = createIncomplete();
  function hear(message: Message): void {
    if (message.inReplyTo === undefined || message.inReplyTo === id) return tell(message);
    remark(`an answer to an earlier message: ${sanitizeLine(replyText(message))}`);
  }
  const options: SessionOptions = {
    ...given,
    profile: "send",
    notice: remark,
    answer: hear,
    hear: {
      onUpdate(message) {
        wait();
        if (message.requestId === undefined || message.requestId === id) incomplete.update(message);
      },
      onRemoved: incomplete.removed,
      onTyping: wait,
    },
  };
  const fail = (code: number, error: string, message: string): number => {
    if (context.json) printJson(context, { error, message });
    else remark(sanitizeLine(message));
    return code;
  };

  function print(
    content: string,
    { id, session, media }: Pick<Message, "id" | "session" | "media">,
    complete: boolean,
  ): void {
    if (!context.json) return context.out(`${replyText({ content, media })}\n`);
    const kinds = media.map(({ type, url, filename }) => ({ type, url, filename }));
    printJson(context, { id, session_id: session, content, media: kinds, complete });
  }

  const session = await openClientSession(context, options);
  const conversation = session.link.session() ?? "";
  wait();
  const refused = session.link.send({ content, id }).then(
    () => answered,
    (error: unknown) => errorReason(error),
  );
  const outcome = await Promise.race([refused, session.ended, tooLate]);
  isOver = true;
  clearTimeout(timer);
  await session.close();
  const [begun] = incomplete.begun();
  if (begun && (outcome === "late" || "exit" in outcome)) {
    print(begun.content, { id: begun.id, session: conversation, media: [] }, false);
    remark(begunSentence);
    return exitCodes.incomplete;
  }
  if (outcome === "late")
    return fail(
      exitCodes.failed,
      "no_answer",
      `There was no answer within ${timeoutMs / 1_000} s.`,
    );
  if ("exit" in outcome)
    return fail(outcome.exit || exitCodes.failed, outcome.code, outcome.sentence);
  if (!("content" in outcome)) return fail(exitCodes.failed, outcome.code, outcome.message);
  print(outcome.content, outcome, !incomplete.assumed());
  if (!incomplete.assumed()) return exitCodes.done;
  remark(assumedSentence(given.silenceMs));
  return exitCodes.incomplete;
}
