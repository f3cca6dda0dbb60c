// `doorward send TEXT`: sends one message and prints the reply.
import { randomUUID } from "node:crypto";
import { assumedSentence, begunSentence, createIncomplete } from "../client/incomplete.ts";
import { replyText, sanitizeLine } from "../client/text.ts";
import { clientArguments, errorReason, openClientSession } from "../client/session.ts";
import type { Message } from "../../plugins/channels/index.ts";
import { UsageError, exitCodes, printJson, type CommandContext } from "./command.ts";

const maxStdinBytes = 1024 * 1024;

async function messageText({ words, stdin }: CommandContext): Promise<string> {
  const [word = "", ...more] = words;
  if (word === "" || more.length > 0) {
    throw new UsageError('"send" takes one text in quotation marks, or - for standard input');
  }
  if (word !== "-") return word;
  let text = "";
  for await (const chunk of stdin.setEncoding("utf8")) {
    text += String(chunk);
    if (text.length > maxStdinBytes)
      throw new UsageError("standard input exceeds the maximum message size of 1 MiB");
  }
  if (text.trim() === "")
    throw new UsageError('"send -" reads the message from standard input, which was empty');
  return text.replace(/^\ufeff|\r?\n$/g, ""); // PowerShell writes a byte order mark
}

type PrintedReply = Pick<Message, "id" | "session" | "content" | "media">;

/** Sends one message, prints the reply and resolves with the exit code. */
export async function send(context: CommandContext): Promise<number> {
  const options = clientArguments(context);
  const content = await messageText(context);
  const { timeoutMs, silenceMs } = options;
  const output = createOutput(context);
  const id = randomUUID();
  const incomplete = createIncomplete();
  const timeout = createTimeout(timeoutMs);
  let resolveReply: (reply: Message) => void;
  const replied = new Promise<Message>((resolve) => {
    resolveReply = resolve;
  });
  const session = await openClientSession(context, {
    ...options,
    profile: "send",
    notice: output.notice,
    onReply(message) {
      if (message.inReplyTo === undefined || message.inReplyTo === id) resolveReply(message);
      else output.notice(`a reply to an earlier message: ${sanitizeLine(replyText(message))}`);
    },
    handlers: {
      onUpdate(message) {
        timeout.restart();
        if (message.requestId === undefined || message.requestId === id) incomplete.update(message);
      },
      onRemoved: incomplete.removed,
      onTyping: timeout.restart,
    },
  });
  const conversation = session.link.session() ?? "";
  timeout.restart();
  const replyOrError = session.link.send({ content, id }).then(
    () => replied,
    (error: unknown) => errorReason(error),
  );
  const outcome = await Promise.race([replyOrError, session.ended, timeout.expired]);
  timeout.stop();
  await session.close();
  const [begun] = incomplete.begun();
  if (begun && (outcome === "timeout" || "exit" in outcome)) {
    const { id, content } = begun;
    output.reply({ id, session: conversation, content, media: [] }, false);
    output.notice(begunSentence);
    return exitCodes.incomplete;
  }
  if (outcome === "timeout")
    return output.fail(
      exitCodes.failed,
      "no_answer",
      `There was no reply within ${timeoutMs / 1_000} s.`,
    );
  if ("exit" in outcome)
    return output.fail(outcome.exit || exitCodes.failed, outcome.code, outcome.sentence);
  if (!("content" in outcome)) return output.fail(exitCodes.failed, outcome.code, outcome.message);
  output.reply(outcome, !incomplete.assumed());
  if (!incomplete.assumed()) return exitCodes.done;
  output.notice(assumedSentence(silenceMs));
  return exitCodes.incomplete;
}

/** Expires after `timeoutMs` without a restart; never if it is 0. */
function createTimeout(timeoutMs: number) {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let expire: () => void;
  const expired = new Promise<"timeout">((resolve) => {
    expire = () => resolve("timeout");
  });
  return {
    expired,
    restart(): void {
      clearTimeout(timer);
      if (timeoutMs > 0 && !isStopped) timer = setTimeout(expire, timeoutMs);
    },
    stop(): void {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

function createOutput(context: CommandContext) {
  const notice = (text: string): void => context.say(`doorward: ${text}\n`);
  return {
    notice,
    fail(exitCode: number, error: string, message: string): number {
      if (context.json) printJson(context, { error, message });
      else notice(sanitizeLine(message));
      return exitCode;
    },
    reply({ id, session, content, media }: PrintedReply, complete: boolean): void {
      if (!context.json) return context.out(`${replyText({ content, media })}\n`);
      const files = media.map(({ type, url, filename }) => ({ type, url, filename }));
      printJson(context, { id, session_id: session, content, media: files, complete });
    },
  };
}
