// `doorward send TEXT`: sends one message and prints the reply.
import { randomUUID } from "node:crypto";
import type { ChatEnd } from "../../lib/pico-link/index.ts";
import {
  assumedSentence,
  begunSentence,
  IncompleteReplies,
  endedSentence,
} from "../client/incomplete.ts";
import type { ExitStatus } from "../client/exit-status.ts";
import { PlainTurns } from "../client/plain-turns.ts";
import { ShownQuestions } from "../client/question-text.ts";
import { replyText, sanitizeLine } from "../client/text.ts";
import { clientArguments, errorReason, openClientSession } from "../client/session.ts";
import type { Message } from "../../plugins/channels/index.ts";
import type { PicoLink } from "../../plugins/pico-client/index.ts";
import { UsageError, exitCodes, printJson, type CommandContext } from "./command.ts";

const maxStdinBytes = 1024 * 1024;

async function messageText({ words, stdin }: CommandContext): Promise<string> {
  const given = words.join(" ");
  if (given.trim() === "")
    throw new UsageError('"send" takes a text, or - for standard input: doorward send hello');
  if (given !== "-") return given;
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

/** Joins the texts of an answer. */
const joinReplies = (replies: readonly PrintedReply[]): PrintedReply | undefined => {
  const last = replies.at(-1);
  const texts = replies.map(({ content }) => content).filter((text) => text !== "");
  return (
    last && { ...last, content: texts.join("\n\n"), media: replies.flatMap(({ media }) => media) }
  );
};

/** Sends one message, prints the answer and resolves with the exit code. */
export async function send(context: CommandContext): Promise<number> {
  const options = clientArguments(context);
  const { timeoutMs, silenceMs } = options;
  const output = createOutput(context);
  const [id, content] = [randomUUID(), await messageText(context)];
  const incomplete = new IncompleteReplies();
  const timeout = createTimeout(timeoutMs);
  const replies: PrintedReply[] = [];
  const questions = new ShownQuestions((line) => context.say(`${line}\n`));
  let end: ChatEnd | undefined;
  let link: PicoLink | undefined;
  let resolveAnswer: (outcome: "answered") => void;
  const answered = new Promise<"answered">((resolve) => void (resolveAnswer = resolve));
  /** Why the server did not take the message at the last attempt. */
  let problem: string | undefined;
  const turns = new PlainTurns(() => setImmediate(check));
  /** The answer of a server that does not report its end. */
  function isPlainEnd(): boolean {
    if (link?.reportsEnds() !== false || incomplete.begun().length > 0) return false;
    return !turns.marksEnds() || !turns.isOpen() || incomplete.assumed();
  }
  /** An application may end its work on a message before it replies. */
  function check(): void {
    const hasReply = replies.length > 0 || (end && end.outcome !== "completed");
    if (hasReply && (end || isPlainEnd())) resolveAnswer("answered");
  }
  const isOurs = ({ requestId = id }: { requestId?: string }): boolean => requestId === id;
  const session = await openClientSession(context, {
    ...options,
    profile: "send",
    notice: output.notice,
    onReply(message) {
      if (questions.has(message.id)) return;
      if (message.inReplyTo === undefined || message.inReplyTo === id) {
        replies.push(message);
        check();
      } else output.notice(`a reply to an earlier message: ${sanitizeLine(replyText(message))}`);
    },
    handlers: {
      onUpdate(message) {
        questions.learn(message.toolCalls);
        if (isOurs(message) && !questions.has(message.id)) incomplete.update(message);
      },
      onRemoved: incomplete.removed,
      onQuestion: (question) => (isOurs(question) ? questions.changed(question) : undefined),
      // Thoughts and tool calls are activity too.
      onFrame(frame) {
        turns.accept(frame);
        const { type } = frame;
        // The link sends a message again that the server could not take now.
        if (type === "error" && frame.payload.request_id === id) problem = frame.payload.message;
        else if (type !== "pong") timeout.restart();
      },
      onEnd(reported) {
        if (reported.requestId !== id) return;
        end = reported;
        // The last reply may still be on its way through the channel.
        setImmediate(check);
      },
    },
  });
  link = session.link;
  check();
  const conversation = link.session() ?? "";
  timeout.restart();
  const replyOrError = link.send({ content, id }).then(
    () => answered,
    (error: unknown) => errorReason(error),
  );
  const outcome: Outcome = await Promise.race([replyOrError, session.ended, timeout.expired]);
  timeout.stop();
  await session.close();
  const begun = incomplete.begun().map((reply) => ({ ...reply, session: conversation }));
  const answer = joinReplies([...replies, ...begun]);
  if (outcome === "timeout" && questions.areOpen())
    return output.fail(exitCodes.waiting, "question_open", waitingSentence);
  if (!answer) return output.fail(...failureOf(outcome, end, timeoutMs, problem));
  const reason = incompleteReason(outcome, end, incomplete.assumed() ? silenceMs : undefined);
  return output.reply(answer, reason);
}

/**
 * @param silenceMs - Set if a silence ended the reply.
 * @returns Why the printed reply may be incomplete; undefined if it is whole.
 */
function incompleteReason(
  outcome: Outcome,
  end: ChatEnd | undefined,
  silenceMs: number | undefined,
): string | undefined {
  const isComplete = (end?.outcome ?? "completed") === "completed";
  if (outcome === "answered" && isComplete)
    return silenceMs === undefined ? undefined : assumedSentence(silenceMs);
  if (typeof outcome === "object" && "message" in outcome) return sanitizeLine(outcome.message);
  return end ? endedSentence(end) : begunSentence;
}

const waitingSentence = "The question was not answered in time. It is still open.";

type Outcome = "answered" | "timeout" | ExitStatus | { code: string; message: string };

/** @returns Exit code, error code and sentence of a message without a reply. */
function failureOf(
  outcome: Outcome,
  end: ChatEnd | undefined,
  timeoutMs: number,
  problem: string | undefined,
): readonly [number, string, string] {
  if (outcome === "timeout") {
    const reason = problem === undefined ? "" : ` ${problem}`;
    const sentence = `There was no reply within ${timeoutMs / 1_000} s.${reason}`;
    return [exitCodes.failed, "no_answer", sentence];
  }
  if (outcome === "answered")
    return [exitCodes.failed, end?.code ?? end?.outcome ?? "no_answer", endedSentence(end)];
  if ("exit" in outcome) return [outcome.exit || exitCodes.failed, outcome.code, outcome.sentence];
  return [exitCodes.failed, outcome.code, outcome.message];
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
    /** @param incomplete - Why it may be incomplete. */
    reply({ id, session, content, media }: PrintedReply, incomplete: string | undefined): number {
      const complete = incomplete === undefined;
      const files = media.map(({ type, url, filename }) => ({ type, url, filename }));
      if (!context.json) context.out(`${replyText({ content, media })}\n`);
      else printJson(context, { id, session_id: session, content, media: files, complete });
      if (incomplete !== undefined) notice(incomplete);
      return complete ? exitCodes.done : exitCodes.incomplete;
    },
  };
}
