// Sends the messages of the application to the sessions of the pico channel.
import type { Awaitable, Clock } from "../../../kernel/index.ts";
import type {
  AnswerEnd,
  ChannelAdapter,
  GrowingMessage,
  InboundMessage,
  Media,
  AdapterReceipt,
  Usage,
} from "../../channels/index.ts";
import {
  encode,
  limits,
  type AnswerEndFrame,
  type AnswerEndPayload,
  type Attachment,
  type ServerFrame,
} from "../../../lib/pico-wire/index.ts";
import { picoErrors } from "../errors.ts";
import { toFailureCode, toMessageError } from "./mapping.ts";
import {
  requestIdOf,
  toAttachment,
  toMark,
  toPayload,
  TurnEntry,
} from "../../conversations/log/index.ts";
import type { AppendResult, SessionLog, TextGrowth } from "../../conversations/index.ts";
import { EncodedEntry, encodeTextMessage, type TextMessage } from "../frame-encoding.ts";

/** Returns the path of a stored file with the base path. */
type FileUrl = (id: string) => string;

/** @throws unsupported if the file has neither bytes nor a URL that clients can open. */
function requireAttachment(media: Media, fileUrl: FileUrl): Attachment {
  const attachment = toAttachment(media, fileUrl);
  if (!attachment) throw picoErrors.unsupported();
  return attachment;
}

type FrameType = ServerFrame["type"];

/** True if the message has only fields that the frame of an added text can express. */
const isTextOnly = (message: GrowingMessage): boolean =>
  message.placeholder === undefined &&
  message.toolCalls === undefined &&
  message.contextUsage === undefined &&
  message.model === undefined &&
  message.cut === undefined &&
  message.entries === undefined &&
  (message.attachments === undefined || message.attachments.length === 0);
const isPlainText = (message: GrowingMessage): boolean =>
  message.kind === undefined && isTextOnly(message);

const isHighSurrogate = (unit: number): boolean => (unit & 0xfc00) === 0xd800;

/** The text before it must not end within a surrogate pair: clients have received it as UTF-8. */
function addedBy(message: GrowingMessage): string | undefined {
  const { content, added } = message;
  if (added === undefined || !isTextOnly(message) || !content.endsWith(added)) return undefined;
  const last = content.charCodeAt(content.length - added.length - 1);
  return isHighSurrogate(last) ? undefined : added;
}

/** Sessions whose ends are kept, and ends of one session. */
const maxSessions = 1_024;
const maxEnds = 32;

const answerUsage = ({ input, output, reasoning, cached }: Usage): object => ({
  input_tokens: input,
  output_tokens: output,
  reasoning_tokens: reasoning,
  cached_tokens: cached,
});

const toEndPayload = (id: string, end: AnswerEnd): AnswerEndPayload => ({
  request_id: id,
  outcome: end.outcome,
  ...(end.code !== undefined && { code: toFailureCode(end.code) }),
  finish_reason: end.finishReason,
  ...(end.usage && { usage: answerUsage(end.usage) }),
});

/** Creates the frame that reports the end of an answer. */
const toEndFrame = (session: string, id: string, end: AnswerEnd): AnswerEndFrame => ({
  type: "answer.end",
  session_id: session,
  payload: toEndPayload(id, end),
});

interface RecentEnd {
  readonly frame: AnswerEndFrame;
  readonly at: number;
}

/**
 * Keeps the ends of answers for clients that asked for them, if the log does not: one that resumes
 * receives the latest. Sessions without an interested client cost nothing: their
 * ends are not even encoded.
 */
export class RecentEnds {
  private readonly keepMs: number;
  /** Least recently watched first. */
  private readonly sessions = new Map<string, RecentEnd[]>();

  /** @param keepMs - How long a client may be away and still receive what it missed. */
  constructor(keepMs: number) {
    this.keepMs = keepMs;
  }

  /** A client of this session asked for the ends of answers. */
  watch(session: string): void {
    const ends = this.sessions.get(session) ?? [];
    this.sessions.delete(session);
    this.sessions.set(session, ends);
    const [oldest] = this.sessions.size > maxSessions ? this.sessions.keys() : [];
    if (oldest !== undefined) this.sessions.delete(oldest);
  }

  /** The conversation of this session is deleted: its clients connect again. */
  forget(session: string): void {
    this.sessions.delete(session);
  }

  /** @returns The frame to send; undefined if no client has asked for it. */
  add(session: string, id: string, end: AnswerEnd, now: number): AnswerEndFrame | undefined {
    const ends = this.sessions.get(session);
    if (!ends) return undefined;
    const frame = toEndFrame(session, id, end);
    ends.push({ frame, at: now });
    if (ends.length > maxEnds) ends.shift();
    return frame;
  }

  /** @returns The frames that a returning client may have missed, oldest first. */
  recent(session: string, now: number): readonly AnswerEndFrame[] {
    const ends = this.sessions.get(session) ?? [];
    return ends.filter(({ at }) => now - at <= this.keepMs).map(({ frame }) => frame);
  }
}

/** @throws too_large */
function assertSize(text: string): void {
  const byteLength = Buffer.byteLength(text);
  if (byteLength > limits.outboundFrame)
    throw picoErrors.too_large(byteLength, limits.outboundFrame);
}

interface ChannelAdapterOptions {
  readonly sessions: SessionLog;
  readonly clock: Clock;
  /** Called after each message that the session log has stored. */
  readonly onSent: () => void;
  readonly newId: () => string;
  readonly ends: RecentEnds;
  /** Milliseconds that answers may continue when the kernel stops. */
  readonly drainMs: () => number;
  readonly fileUrl: FileUrl;
}

class PicoChannelAdapter implements ChannelAdapter {
  readonly name = "pico";
  readonly keeps = "itself";
  readonly resumeMs: number;
  private readonly sessions: SessionLog;
  private readonly clock: Clock;
  private readonly onSent: () => void;
  private readonly newId: () => string;
  private readonly ends: RecentEnds;
  private readonly fileUrl: FileUrl;
  private readonly readDrainMs: () => number;

  constructor({ sessions, clock, onSent, newId, ends, drainMs, fileUrl }: ChannelAdapterOptions) {
    this.readDrainMs = drainMs;
    this.fileUrl = fileUrl;
    this.sessions = sessions;
    this.newId = newId;
    this.ends = ends;
    this.resumeMs = sessions.limits.retentionMs;
    this.clock = clock;
    this.onSent = onSent;
  }

  get drainMs(): number {
    return this.readDrainMs();
  }

  send(session: string, id: string, message: GrowingMessage): Awaitable<AdapterReceipt> {
    return message.placeholder
      ? this.writeMessage("message.create", session, id, message, undefined, false)
      : this.writeMessage("message.create", session, id, message, message.final ?? true, true);
  }

  update(session: string, id: string, message: GrowingMessage): Awaitable<AdapterReceipt> {
    const { final, cut } = message;
    // A client must not take the text for complete, and history keeps it as it is.
    if (cut !== undefined)
      return this.writeMessage("message.update", session, id, message, undefined, true);
    return this.writeMessage("message.update", session, id, message, final, final ?? false);
  }

  remove(session: string, id: string): Awaitable<AdapterReceipt> {
    const type = "message.delete";
    const frame = { type, payload: { message_id: id }, session_id: session } as const;
    const text = encode({ ...frame, timestamp: this.clock.now() });
    return this.write(type, session, id, text, true);
  }

  typing(session: string, on: boolean): void {
    void this.broadcast(session, { type: on ? "typing.start" : "typing.stop" });
  }

  failed(session: string, id: string, error: unknown): void {
    const payload = { ...toMessageError(error), request_id: id };
    void this.broadcast(session, { type: "error", payload });
  }

  turn(message: InboundMessage): Awaitable<void> {
    if (!this.sessions.wantsTurns(message.session)) return;
    const appended = this.sessions.append(message.session, new TurnEntry(message, this.newId));
    if (appended instanceof Promise) return appended.then(() => undefined);
  }

  ended(session: string, id: string, end: AnswerEnd): Promise<void> | undefined {
    const { sessions } = this;
    const frame = sessions.wantsEnds
      ? sessions.wantsEnds(session) && toEndFrame(session, id, end)
      : this.ends.add(session, id, end, this.clock.now());
    return frame ? this.broadcast(session, frame) : undefined;
  }

  forgotten(session: string): void {
    this.ends.forget(session);
  }

  private publish(
    type: FrameType,
    session: string,
    text: string,
    numbered: boolean,
    message?: string,
    final?: boolean,
    growth?: TextGrowth,
    answers?: string,
  ): Awaitable<AppendResult> {
    assertSize(text);
    const entry = new EncodedEntry(type, text, numbered, message, final);
    entry.answers = answers;
    if (!growth) return this.sessions.append(session, entry);
    entry.growth = growth;
    const appended = this.sessions.append(session, entry);
    // The log keeps the entry, and the added text would keep the whole text in memory.
    if (!(appended instanceof Promise)) entry.growth = undefined;
    else
      return appended.finally(() => {
        entry.growth = undefined;
      });
    return appended;
  }

  private write(
    type: FrameType,
    session: string,
    id: string,
    text: string,
    numbered: boolean,
    final?: boolean,
    growth?: TextGrowth,
    answers?: string,
  ): Awaitable<AdapterReceipt> {
    const appended = this.publish(type, session, text, numbered, id, final, growth, answers);
    return appended instanceof Promise
      ? appended.then((result) => this.toReceipt(id, numbered, result))
      : this.toReceipt(id, numbered, appended);
  }

  private toReceipt(
    id: string,
    numbered: boolean,
    { subscribers, settled = false }: AppendResult,
  ): AdapterReceipt {
    this.onSent();
    return { id, status: subscribers === 0 ? "buffered" : "written", isLast: numbered && settled };
  }

  private writeMessage(
    type: TextMessage["type"],
    session: string,
    id: string,
    message: GrowingMessage,
    final: boolean | undefined,
    numbered: boolean,
  ): Awaitable<AdapterReceipt> {
    if (message.question) return this.writeQuestion(type, session, id, message, final);
    const now = this.clock.now();
    const { content } = message;
    const request = requestIdOf(message);
    const answers = final && message.kind === undefined ? request : undefined;
    const canGrow = (type === "message.update" || !final) && message.cut === undefined;
    const growth = canGrow
      ? { length: content.length, added: addedBy(message), time: now, final: final ?? false }
      : undefined;
    const plain = isPlainText(message)
      ? encodeTextMessage({ type, session, id, content, request, final }, now)
      : undefined;
    const text =
      plain ??
      encode({
        type,
        payload: toPayload(id, message, final, (media) => requireAttachment(media, this.fileUrl)),
        session_id: session,
        timestamp: now,
      });
    return this.write(type, session, id, text, numbered, final, growth, answers);
  }

  /** The text of a question never grows, and answers no message. */
  private writeQuestion(
    type: TextMessage["type"],
    session: string,
    id: string,
    message: GrowingMessage,
    final: boolean | undefined,
  ): Awaitable<AdapterReceipt> {
    const payload = toPayload(id, message, final, (media) =>
      requireAttachment(media, this.fileUrl),
    );
    const text = encode({ type, payload, session_id: session, timestamp: this.clock.now() });
    assertSize(text);
    const entry = new EncodedEntry(type, text, true, id, final);
    entry.question = toMark(message.question!);
    const appended = this.sessions.append(session, entry);
    return appended instanceof Promise
      ? appended.then((result) => this.toReceipt(id, true, result))
      : this.toReceipt(id, true, appended);
  }

  /** Sends a frame to the current subscribers. A failure is ignored: the frame may be lost. */
  private broadcast(session: string, frame: ServerFrame): Promise<void> {
    const text = encode({ ...frame, session_id: session, timestamp: this.clock.now() });
    const publish = async (): Promise<unknown> => this.publish(frame.type, session, text, false);
    return publish().then(
      () => undefined,
      () => undefined,
    );
  }
}

/** Creates the adapter that sends each message to every connection of its session. */
export const createChannelAdapter = (options: ChannelAdapterOptions): ChannelAdapter =>
  new PicoChannelAdapter(options);
