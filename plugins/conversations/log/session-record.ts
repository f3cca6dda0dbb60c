// Records what is said over a channel that has streams of its own.
import type { Awaitable } from "../../../kernel/index.ts";
import { encode, isSessionId, limits } from "../../../lib/pico-wire/index.ts";
import type { ConversationRecord, Conversations } from "../contract.ts";
import type { GrowingMessage, InboundMessage, Media } from "../messages.ts";
import { toMark } from "../question-frames.ts";
import { requestIdOf, toAttachment, toPayload } from "./message-payload.ts";
import type { LogEntry, LogListeners, SessionLog } from "./session-log.ts";
import { fitFrame, maxMediaBytes, sizeOfMedia, toTurnEntry } from "./turn-entry.ts";

/** Files that are too large, or that no page can open, are left out of the record. */
function recordable(message: GrowingMessage): GrowingMessage {
  const { attachments = [], ...rest } = message;
  if (attachments.length === 0) return message;
  const isLarge = sizeOfMedia(attachments) > maxMediaBytes;
  const isKept = (media: Media): boolean =>
    toAttachment(media) !== undefined &&
    !(isLarge && (media.bytes ?? media.url?.startsWith("data:")));
  return { ...rest, attachments: attachments.filter(isKept) };
}

/** The channel reports its own receipts, and has its own connections. */
export const noListeners: LogListeners = {
  onReceipt: () => undefined,
  sessionActive: () => undefined,
  sessionIdle: () => undefined,
  renewed: () => undefined,
};

/** Opens the log of a channel to record it. */
export function createRecord(
  conversations: Pick<Conversations, "open">,
  channel: string,
  random: (bytes: number) => Uint8Array,
): ConversationRecord {
  return new SessionRecord(conversations.open(channel, noListeners), () =>
    Buffer.from(random(16)).toString("hex"),
  );
}

/**
 * Appends the messages of both sides to a log. A text that is too long for a frame of 512 KiB is
 * cut. Nothing is appended to a session whose turns the log does not want, as in memory.
 */
class SessionRecord implements ConversationRecord {
  private readonly log: SessionLog;
  private readonly newId: () => string;

  /** @param newId - Makes ids of messages. */
  constructor(log: SessionLog, newId: () => string) {
    this.log = log;
    this.newId = newId;
  }

  /** False for names that the log cannot have. */
  canKeep(session: string): boolean {
    return session !== "" && isSessionId(session);
  }

  /** Adds the message of a person. */
  turn(message: InboundMessage): Awaitable<unknown> {
    if (!this.log.wantsTurns(message.session)) return undefined;
    return this.log.append(message.session, toTurnEntry(message, this.newId));
  }

  /** Adds a message of the application. */
  sent(session: string, id: string, message: GrowingMessage, at: number): Promise<unknown> {
    const final = message.placeholder ? undefined : (message.final ?? true);
    return this.append(session, () =>
      this.toEntry("message.create", { session, id, message, final, at }, final !== undefined),
    );
  }

  /** Replaces the text of a message. */
  updated(session: string, id: string, message: GrowingMessage, at: number): Promise<unknown> {
    const { final } = message;
    return this.append(session, () =>
      this.toEntry("message.update", { session, id, message, final, at }, final ?? false),
    );
  }

  /** Removes a message of the application. */
  removed(session: string, id: string, at: number, asked = false): Promise<unknown> {
    const type = "message.delete";
    const frame = {
      type,
      payload: { message_id: id },
      session_id: session,
      timestamp: at,
    } as const;
    const encoded = Buffer.from(encode(frame));
    const question = asked ? ({ state: "settled" } as const) : undefined;
    return this.append(session, () => ({
      type,
      frame: encoded,
      numbered: true,
      message: id,
      question,
    }));
  }

  private async append(session: string, entry: () => LogEntry): Promise<void> {
    if (this.log.wantsTurns(session)) await this.log.append(session, entry());
  }

  private toEntry(
    type: "message.create" | "message.update",
    sent: {
      readonly session: string;
      readonly id: string;
      readonly message: GrowingMessage;
      readonly final: boolean | undefined;
      readonly at: number;
    },
    numbered: boolean,
  ): LogEntry {
    const { session, id, final, at } = sent;
    const message = recordable(sent.message);
    const toFrame = (kept: GrowingMessage): Buffer =>
      fitFrame({
        type,
        payload: toPayload(id, kept, final, (media) => toAttachment(media)!),
        session_id: session,
        timestamp: at,
      });
    let frame = toFrame(message);
    const { toolCalls: _, ...text } = message;
    if (frame.byteLength > limits.outboundFrame) frame = toFrame(text);
    const request = requestIdOf(message);
    const entry = { type, frame, numbered, message: id, final };
    // A question answers no message.
    if (message.question) return { ...entry, question: toMark(message.question) };
    const isAnswer = final && message.kind === undefined && request !== undefined;
    return { ...entry, ...(isAnswer && { answers: request }) };
  }
}
