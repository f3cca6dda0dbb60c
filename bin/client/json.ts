// `doorward client -json`: exchanges Pico messages as JSON lines with another program.
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
  decode,
  WireError,
  type AnswerPayload,
  type ClientFrame,
  type ServerFrame,
} from "../../lib/pico-wire/index.ts";
import { exitCodes, type CommandContext } from "../commands/command.ts";
import type { ExitStatus } from "./exit-status.ts";
import { ReplyTracker, runConversation } from "./expectation.ts";
import { whenReaderGone } from "./lines.ts";
import {
  errorReason,
  openClientSession,
  type ClientArguments,
  type ClientSession,
} from "./session.ts";
import { sanitizedJson } from "./text.ts";

type OutboundFrame = Extract<ClientFrame, { type: "message.send" | "media.send" }>;

/** Reads and writes one Pico message per line. Errors are lines of type `error`. */
export async function runJson(context: CommandContext, options: ClientArguments): Promise<number> {
  const conversation = new JsonConversation(context, options);
  const readerGone = whenReaderGone(process.stdout);
  const session = await openClientSession(context, {
    ...options,
    notice: (text) => context.say(`doorward: ${text}\n`),
    onReply: ({ inReplyTo }) => conversation.tracker.replied(inReplyTo),
    handlers: {
      onFrame: (frame) => conversation.printFrame(frame),
      onUpdate: (message) => conversation.tracker.updated(message),
      onRemoved: conversation.tracker.incomplete.removed,
      onEnd: ({ requestId }) => conversation.tracker.ended(requestId),
    },
  });
  conversation.link = session.link;
  const { tracker } = conversation;
  const outcome = await runConversation({ context, session, tracker, readerGone }, (line) =>
    conversation.handleLine(line, session),
  );
  return outcome === undefined ? exitCodes.done : conversation.exitCode(outcome);
}

/** The client answers lines of its own input itself, with their ids. */
const hiddenTypes: readonly string[] = ["pong", "question.ack", "stop.ack"];

class JsonConversation {
  readonly tracker: ReplyTracker;
  /** Set once the session is open. */
  link: ClientSession["link"] | undefined;
  /** Message id -> the payload that is being delivered. */
  private readonly pending = new Map<string, OutboundFrame["payload"]>();
  private failures = 0;
  private readonly context: CommandContext;
  private readonly options: ClientArguments;

  constructor(context: CommandContext, options: ClientArguments) {
    this.context = context;
    this.options = options;
    this.tracker = new ReplyTracker(options.timeoutMs, () => this.link?.reportsEnds() ?? false);
  }

  /** Leaves out errors of pending messages: `send` reports each once, after the last attempt. */
  printFrame(frame: ServerFrame): void {
    this.tracker.activity();
    this.tracker.frame(frame);
    const isPending = frame.type === "error" && this.pending.has(frame.payload.request_id ?? "");
    const isHidden = hiddenTypes.includes(frame.type) || isPending;
    if (!isHidden) this.print(frame);
  }

  handleLine(line: string, session: ClientSession): Promise<void> | undefined {
    if (line.trim() === "") return undefined;
    try {
      return this.handleFrame(decode(line, "client"), session);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.fail(error.code, error.message, error.requestId);
      return undefined;
    }
  }

  exitCode(outcome: number | ExitStatus): number {
    const begun = this.tracker.incomplete.begun().length;
    const isIncomplete = begun > 0 || this.tracker.incomplete.assumed();
    if (typeof outcome === "object") {
      if (outcome.exit !== exitCodes.done) this.report(outcome.code, outcome.sentence);
      return outcome.exit || (isIncomplete ? exitCodes.incomplete : exitCodes.done);
    }
    const missing = outcome - begun;
    if (missing > 0) {
      const seconds = this.options.timeoutMs / 1_000;
      this.report("no_answer", `No reply to ${missing} of the messages within ${seconds} s.`);
    }
    if (missing > 0 || this.failures > 0) return exitCodes.failed;
    const isOpen = isIncomplete || this.tracker.isAnswering();
    return isOpen ? exitCodes.incomplete : exitCodes.done;
  }

  private handleFrame(frame: ClientFrame, session: ClientSession): Promise<void> | undefined {
    const { id, session_id: sessionId, type } = frame;
    const current = session.link.session();
    if (sessionId !== undefined && sessionId !== current) {
      const message = `This client has one conversation, ${current}. Choose another with -session.`;
      this.fail("invalid_session_id", message, id);
    } else if (type === "message.send" || type === "media.send") return this.send(frame, session);
    else if (type === "ping") this.print({ type: "pong", id });
    else if (type === "message.stop") return this.stop(id, frame.payload.request_id, session);
    else if (type === "question.answer") return this.answer(id, frame.payload, session);
    else if (type !== "ack") session.link.typing(type === "typing.start");
    return undefined;
  }

  private async send({ id: givenId, payload }: OutboundFrame, session: ClientSession) {
    const id = givenId ?? randomUUID();
    const { content, media, hops } = payload;
    const previous = this.pending.get(id);
    if (previous && isDeepStrictEqual(previous, payload)) return; // the first reports the result
    if (previous) {
      this.report("id_reused", "Another message with this id is still being delivered.", id);
      return;
    }
    const attachments = media.map((medium) => {
      if ("id" in medium) return { type: "file", id: medium.id };
      const { base64, ...rest } = medium;
      return { ...rest, bytes: Buffer.from(base64, "base64") };
    });
    this.pending.set(id, payload);
    this.tracker.sent(id);
    try {
      await session.link.send({ content, attachments, hops, id });
      this.tracker.settled(id, true);
    } catch (error) {
      const { code, message } = errorReason(error);
      this.fail(code, message, givenId);
      this.tracker.settled(id, false);
    } finally {
      this.pending.delete(id);
    }
  }

  /** Prints a response with the id of the line. The one of the server has another id. */
  private async respond(id: string | undefined, response: () => Promise<object>): Promise<void> {
    try {
      this.print(await response());
    } catch (error) {
      const { code, message } = errorReason(error);
      this.fail(code, message, id);
    }
  }

  private stop(id: string | undefined, requestId: string | undefined, { link }: ClientSession) {
    return this.respond(id, async () => {
      const results = await link.stop(requestId);
      const stopped = results.map((item) => ({ request_id: item.requestId, status: item.status }));
      return { type: "stop.ack", payload: { request_id: id, stopped } };
    });
  }

  private answer(
    id: string | undefined,
    { message_id, ...given }: AnswerPayload,
    { link }: ClientSession,
  ) {
    return this.respond(id, async () => {
      const result = await link.answer(message_id, given);
      return { type: "question.ack", payload: { request_id: id, message_id, ...result } };
    });
  }

  private fail(code: string, message: string, id?: string): void {
    this.failures++;
    this.report(code, message, id);
  }

  private report(code: string, message: string, id?: string): void {
    this.print({ type: "error", payload: { code, message, request_id: id } });
  }

  /** Leaves out fields without a value. */
  private print(frame: object): void {
    this.context.out(`${sanitizedJson(frame)}\n`);
  }
}
