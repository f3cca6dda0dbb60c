// Converts between the messages of the application and frames, and sends them to the sessions.
import { codeOf, type Clock, type Release } from "../../../kernel/index.ts";
import { BoundedMap } from "../../../lib/util.ts";
import type {
  AnswerEnd,
  ChannelAdapter,
  GrowingMessage,
  InboundMessage,
  Media,
  AdapterReceipt,
  StopResult,
  Usage,
} from "../../channels/index.ts";
import {
  decode,
  encode,
  limits,
  messageErrors,
  WireError,
  type AnswerEndFrame,
  type AnswerEndPayload,
  type Attachment,
  type ClientFrame,
  type ErrorCode,
  type InlineImage,
  type MessagePayload,
  type NoticeFrame,
  type ServerFrame,
  type SkippedAttachment,
  type StoppedMessage,
} from "../../../lib/pico-wire/index.ts";
import { sentenceForSender } from "../../channels/sender-error.ts";
import { picoErrors } from "../errors.ts";
import type { FoundFiles } from "./message-files.ts";
import {
  requestIdOf,
  toAttachment,
  toMark,
  toPayload,
  toTurnEntry,
} from "../../conversations/log/index.ts";
import type { SessionLog, TextGrowth } from "../../conversations/index.ts";
import { addedTextMs, WholeTexts, wholeTextMs } from "./whole-texts.ts";
import { EncodedEntry, encodeTextMessage, type TextMessage } from "../frame-encoding.ts";

/** @returns The frame, or the reason to reject it. */
export function decodeFrame(data: Uint8Array): ClientFrame | WireError {
  try {
    return decode(data, "client");
  } catch (error) {
    if (error instanceof WireError) return error;
    throw error;
  }
}

const noMedia: readonly Media[] = [];
const decodeImage = ({ type, base64, filename }: InlineImage): Media => ({
  type,
  bytes: Buffer.from(base64, "base64"),
  ...(filename !== undefined && { filename }),
});

/** @returns True if the frame is a message that names uploaded files. */
export const namesFiles = (frame: ClientFrame): boolean =>
  (frame.type === "message.send" || frame.type === "media.send") &&
  frame.payload.media.some((medium) => "id" in medium);

/**
 * Converts media of a client message to the type of applications.
 *
 * @param files - The files that the message names. They were found before.
 */
export const toChannelMedia = (
  media: MessagePayload["media"],
  files?: FoundFiles,
): readonly Media[] =>
  media.length === 0
    ? noMedia
    : media.flatMap((medium) =>
        "id" in medium ? (files?.get(medium.id) ?? []) : decodeImage(medium),
      );

/** Creates the frame that lists the attachments that the application does not receive. */
export const toSkippedNotice = (
  session: string,
  requestId: string | undefined,
  attachments: readonly SkippedAttachment[],
): NoticeFrame => ({
  type: "notice",
  session_id: session,
  payload: {
    code: "attachments_skipped",
    message:
      "Some attachments were skipped because they are neither uploaded files nor images in " +
      "data: URLs.",
    ...(requestId !== undefined && { request_id: requestId }),
    attachments,
  },
});

/** Converts the results of a stop to the wire. */
export const toStoppedMessages = (results: readonly StopResult[]): StoppedMessage[] =>
  results.map(({ id, status }) => ({ request_id: id, status }));

const forwardedCodes: readonly ErrorCode[] = ["no_application", "id_reused", "loop", "stopped"];
/** The application wrote these messages for the sender, so they are forwarded. */
const applicationCodes: readonly ErrorCode[] = [
  "application_refused",
  "application_ended",
  "bad_answer",
  "no_answer",
];

/** Errors of replies. For the sender, `too_large` means that its own message is too large. */
const replyCodes: Readonly<Record<string, ErrorCode>> = { too_large: "reply_too_large" };

/** @returns The code of a failed answer for the client. */
export const toFailureCode = (code: string): string => replyCodes[code] ?? code;

/** Errors after which the client sends the message again. */
const temporaryCodes: Readonly<Record<string, ErrorCode>> = {
  not_running: "busy",
  store_busy: "busy",
  store_unavailable: "not_stored",
};

/** @returns The code for the client if the conversations cannot be stored or read now. */
export const storeErrorOf = (error: unknown): ErrorCode | undefined =>
  temporaryCodes[codeOf(error)];

/** Converts a failed delivery to the error for the client. Details stay in the log. */
export function toMessageError(error: unknown): {
  readonly code: ErrorCode;
  readonly message: string;
} {
  const code = codeOf(error);
  const applicationCode = applicationCodes.find((known) => known === code);
  if (applicationCode !== undefined)
    return { code: applicationCode, message: (error as Error).message };
  const knownCode =
    replyCodes[code] ?? temporaryCodes[code] ?? forwardedCodes.find((known) => known === code);
  const sentence = knownCode === undefined ? sentenceForSender(error) : undefined;
  if (sentence !== undefined) return { code: "application_refused", message: sentence };
  const wireCode = knownCode ?? "internal";
  return { code: wireCode, message: messageErrors[wireCode].message };
}

/** Returns the path of a stored file with the base path. */
type FileUrl = (id: string) => string;

/** @throws unsupported if the file has neither bytes nor a URL that clients can open. */
function requireAttachment(media: Media, fileUrl: FileUrl): Attachment {
  const attachment = toAttachment(media, fileUrl);
  if (!attachment) throw picoErrors.unsupported();
  return attachment;
}

/** True if the message has only fields that the frame of an added text can express. */
const isTextOnly = (message: GrowingMessage): boolean =>
  message.placeholder === undefined &&
  message.toolCalls === undefined &&
  message.contextUsage === undefined &&
  message.model === undefined &&
  message.cut === undefined &&
  message.entries === undefined &&
  message.question === undefined &&
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

export const answerUsage = ({ input, output, reasoning, cached }: Usage): object => ({
  input_tokens: input,
  output_tokens: output,
  reasoning_tokens: reasoning,
  cached_tokens: cached,
});

const toEndPayload = (id: string, end: AnswerEnd): AnswerEndPayload => ({
  request_id: id,
  outcome: end.outcome,
  ...(end.code !== undefined && { code: toFailureCode(end.code) }),
  ...(end.message !== undefined && { message: end.message }),
  finish_reason: end.finishReason,
  ...(end.usage && { usage: answerUsage(end.usage) }),
  ...(end.suggestions && { suggestions: end.suggestions }),
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
  private readonly sessions = new BoundedMap<string, RecentEnd[]>(maxSessions);

  /** @param keepMs - How long a client may be away and still receive what it missed. */
  constructor(keepMs: number) {
    this.keepMs = keepMs;
  }

  /** A client of this session asked for the ends of answers. */
  watch(session: string): void {
    this.sessions.renew(session, this.sessions.get(session) ?? []);
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
  readonly after: (ms: number, run: () => void) => Release;
}

/** Sends each message to every connection of its session. */
export class PicoChannelAdapter implements ChannelAdapter {
  readonly name = "pico";
  readonly keeps = "itself";
  readonly resumeMs: number;
  readonly updateMs: number;
  private readonly sessions: SessionLog;
  private readonly clock: Clock;
  private readonly onSent: () => void;
  private readonly newId: () => string;
  private readonly ends: RecentEnds;
  private readonly fileUrl: FileUrl;
  private readonly readDrainMs: () => number;
  private readonly wholeTexts: WholeTexts;

  constructor(options: ChannelAdapterOptions) {
    const { sessions, clock, onSent, newId, ends, drainMs, fileUrl, after } = options;
    this.readDrainMs = drainMs;
    this.wholeTexts = new WholeTexts(after);
    // Between nodes, each entry has the whole text.
    this.updateMs = sessions.isShared ? wholeTextMs : addedTextMs;
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

  send(session: string, id: string, message: GrowingMessage): Promise<AdapterReceipt> {
    return message.placeholder
      ? this.writeMessage("message.create", session, id, message, undefined, false)
      : this.writeMessage("message.create", session, id, message, message.final ?? true, true);
  }

  update(session: string, id: string, message: GrowingMessage): Promise<AdapterReceipt> {
    const { final, cut } = message;
    // A client must not take the text for complete, and history keeps it as it is.
    return cut === undefined
      ? this.writeMessage("message.update", session, id, message, final, final ?? false)
      : this.writeMessage("message.update", session, id, message, undefined, true);
  }

  remove(session: string, id: string): Promise<AdapterReceipt> {
    const type = "message.delete";
    const frame = { type, payload: { message_id: id }, session_id: session } as const;
    this.wholeTexts.end(session, id);
    const text = encode({ ...frame, timestamp: this.clock.now() });
    return this.write(session, id, new EncodedEntry(type, text, true, id));
  }

  typing(session: string, on: boolean): void {
    void this.broadcast(session, { type: on ? "typing.start" : "typing.stop" });
  }

  failed(session: string, id: string, error: unknown): void {
    const payload = { ...toMessageError(error), request_id: id };
    void this.broadcast(session, { type: "error", payload });
  }

  /** @returns Undefined if there is nothing to wait for. */
  turn(message: InboundMessage): Promise<void> | undefined {
    if (!this.sessions.wantsTurns(message.session)) return undefined;
    const appended = this.sessions.append(message.session, toTurnEntry(message, this.newId));
    return appended instanceof Promise ? appended.then(() => undefined) : undefined;
  }

  async ended(session: string, id: string, end: AnswerEnd): Promise<void> {
    const { sessions } = this;
    const frame = sessions.wantsEnds
      ? sessions.wantsEnds(session) && toEndFrame(session, id, end)
      : this.ends.add(session, id, end, this.clock.now());
    if (frame) await this.broadcast(session, frame);
  }

  forgotten(session: string): void {
    this.wholeTexts.forget(session);
    this.ends.forget(session);
  }

  private async write(session: string, id: string, entry: EncodedEntry): Promise<AdapterReceipt> {
    const { numbered } = entry;
    try {
      const { subscribers, settled = false } = await this.sessions.append(session, entry);
      this.onSent();
      const status = subscribers === 0 ? "buffered" : "written";
      return { id, status, isLast: numbered && settled };
    } finally {
      // The log keeps the entry, and the added text would keep the whole text in memory.
      entry.growth = undefined;
    }
  }

  private writeMessage(
    type: TextMessage["type"],
    session: string,
    id: string,
    message: GrowingMessage,
    final: boolean | undefined,
    numbered: boolean,
  ): Promise<AdapterReceipt> {
    const { content, question, kind, cut } = message;
    const now = this.clock.now();
    const request = requestIdOf(message);
    const text =
      (isPlainText(message)
        ? encodeTextMessage({ type, session, id, content, request, final }, now)
        : undefined) ??
      encode({
        type,
        payload: toPayload(id, message, final, (media) => requireAttachment(media, this.fileUrl)),
        session_id: session,
        timestamp: now,
      });
    assertSize(text);
    const entry = new EncodedEntry(type, text, numbered || question !== undefined, id, final);
    // The text of a question never grows, and answers no message.
    entry.notice = kind === "notice";
    if (question) entry.question = toMark(question);
    else {
      entry.answers = final && kind === undefined ? request : undefined;
      if ((type === "message.update" || !final) && cut === undefined)
        entry.growth = this.pace(session, id, entry, {
          length: content.length,
          added: addedBy(message),
          time: now,
          final: final ?? false,
        });
      else this.wholeTexts.end(session, id);
    }
    return this.write(session, id, entry);
  }

  /** Clients with whole texts receive fewer updates, and always the latest text. */
  private pace(session: string, id: string, entry: EncodedEntry, growth: TextGrowth): TextGrowth {
    const { wholeTexts } = this;
    if (growth.final || this.sessions.isShared) {
      wholeTexts.end(session, id);
      return growth;
    }
    if (entry.numbered || growth.added === undefined) {
      wholeTexts.sent(session, id);
      return growth;
    }
    const later = (): void => void this.repeat(session, entry, growth);
    return wholeTexts.grown(session, id, later) ? growth : { ...growth, only: "added" };
  }

  /** Sends the whole text to the clients that were not sent what was added. */
  private async repeat(session: string, entry: EncodedEntry, growth: TextGrowth): Promise<void> {
    const repeated = entry.repeat({ ...growth, only: "whole" });
    try {
      await this.sessions.append(session, repeated);
    } catch {
      // The next text contains this one.
    } finally {
      repeated.growth = undefined;
    }
  }

  /** Sends a frame to the current subscribers. A failure is ignored: the frame may be lost. */
  private async broadcast(session: string, frame: ServerFrame): Promise<void> {
    const text = encode({ ...frame, session_id: session, timestamp: this.clock.now() });
    try {
      assertSize(text);
      await this.sessions.append(session, new EncodedEntry(frame.type, text, false, undefined));
    } catch {
      // Its receivers do without it.
    }
  }
}
