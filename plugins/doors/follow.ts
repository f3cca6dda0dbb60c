// Follows the answer to one message: keeps its texts, and how much each reader has received.
import { codeOf } from "../../kernel/index.ts";
import type { AnswerEnd, Media, OutboundMessage, ToolCall } from "../channels/index.ts";
import type { DoorSubscriber } from "../pico-server/index.ts";

/** Texts of one answer, in UTF-16 code units. A longer answer fails. */
const maxAnswerLength = 16 * 1024 * 1024;

const maxPieceLength = 64 * 1024;

/** The end of a run: an outcome of the application, or the error that a client is shown. */
export type RunEnd = AnswerEnd & { readonly error?: unknown };
export type TextKind = "text" | "thought";

/**
 * Receives an answer in an order that a single text can show: one message of each kind at a time.
 * A call follows only while `isWritable` returns true, except for `over`.
 */
export interface RunReader {
  /** False while earlier text waits to be written to the client. */
  isWritable(): boolean;
  /** The message grew by this text. The first call begins it. */
  grew(id: string, kind: TextKind, more: string): void;
  /** The text that the reader has received was replaced. `whole` is the final text. */
  replaced(id: string, kind: TextKind, whole: string): void;
  /** The reader has received the whole text of the message. */
  closed(id: string, kind: TextKind): void;
  attachments(id: string, media: readonly Media[]): void;
  toolCalls(id: string, calls: readonly ToolCall[]): void;
  over(end: RunEnd): void;
}

/** One message of the application. */
interface RunMessage {
  readonly id: string;
  readonly kind: TextKind;
  text: string;
  media: readonly Media[];
  calls: readonly ToolCall[];
  isClosed: boolean;
  isRemoved: boolean;
}

/** The part of a message that one reader has received. */
interface Progress {
  sent: number;
  /** The text as it was sent, once it differs from the message. */
  staleText: string | undefined;
  isDone: boolean;
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

/** A part small enough for the progress of a slow reader to be visible. */
function pieceOf(text: string, from: number, upTo: number): string {
  const end = Math.min(upTo, from + maxPieceLength);
  const cut = end < upTo && isHighSurrogate(text.charCodeAt(end - 1)) ? 1 : 0;
  return text.slice(from, end - cut);
}

/** One answer. Subscribe it to the session before the message is delivered. */
export class AnswerRun implements DoorSubscriber {
  readonly requestId: string;
  /** In the order of their first text. */
  readonly messages: RunMessage[] = [];
  end: RunEnd | undefined;
  private readonly known = new Map<string, RunMessage>();
  private readonly followers = new Set<Follower>();
  private readonly onOver: (end: RunEnd) => void;
  private error: unknown;
  private isDelivered = false;
  private heldEnd: AnswerEnd | undefined;
  private length = 0;

  /** @param onOver - Called once, before the readers receive the end. */
  constructor(requestId: string, onOver: (end: RunEnd) => void) {
    this.requestId = requestId;
    this.onOver = onOver;
  }

  /** Begins to pass the answer so far, and everything after it, to a reader. */
  attach(reader: RunReader): Follower {
    const follower = new Follower(this, reader);
    this.followers.add(follower);
    return follower;
  }

  detach(follower: Follower): void {
    this.followers.delete(follower);
  }

  written(id: string, message: OutboundMessage, isFinal: boolean): void {
    const { inReplyTo, placeholder } = message;
    if (this.end || placeholder) return;
    if (inReplyTo !== undefined && inReplyTo !== this.requestId) return;
    const known = this.known.get(id) ?? this.add(id, message);
    if (known.isClosed) return;
    this.setText(known, message.content);
    if (message.attachments) known.media = message.attachments;
    if (message.toolCalls) known.calls = message.toolCalls;
    known.isClosed = isFinal;
    this.pump();
  }

  removed(id: string): void {
    const message = this.known.get(id);
    if (!message || this.end) return;
    message.isClosed = message.isRemoved = true;
    this.pump();
  }

  failed(requestId: string, error: unknown): void {
    if (requestId === this.requestId) this.error = error;
  }

  ended(requestId: string, end: AnswerEnd): void {
    if (requestId !== this.requestId) return;
    if (this.isDelivered || end.outcome !== "failed") return this.finish(this.withError(end));
    this.heldEnd = end;
  }

  /** The delivery succeeded. A failure before is reported by its error, which follows the end. */
  accepted(): void {
    this.isDelivered = true;
    if (this.heldEnd) this.finish(this.withError(this.heldEnd));
  }

  /** The delivery failed. The text so far is kept if the message was stopped during the answer. */
  rejected(error: unknown): void {
    this.isDelivered = true;
    if (codeOf(error) === "stopped" && this.messages.length > 0) return;
    this.fail(error);
  }

  /** Ends the run without the application: rejected, timed out, shutting down. */
  fail(error: unknown): void {
    this.finish({ outcome: "failed", finishReason: "error", messages: 0, error });
  }

  private withError(end: AnswerEnd): RunEnd {
    return this.error === undefined ? end : { ...end, error: this.error };
  }

  private add(id: string, { kind }: OutboundMessage): RunMessage {
    const message: RunMessage = {
      id,
      kind: kind === undefined ? "text" : "thought",
      text: "",
      media: [],
      calls: [],
      isClosed: false,
      isRemoved: false,
    };
    this.known.set(id, message);
    this.messages.push(message);
    return message;
  }

  private setText(message: RunMessage, text: string): void {
    const old = message.text;
    message.text = text;
    this.length += text.length - old.length;
    if (!text.startsWith(old))
      for (const follower of this.followers) follower.noteReplaced(message, old);
    if (this.length > maxAnswerLength) this.fail(new Error("The reply is too long."));
  }

  private finish(end: RunEnd): void {
    if (this.end) return;
    for (const message of this.messages) message.isClosed = true;
    this.end = end;
    this.onOver(end);
    this.pump();
  }

  private pump(): void {
    for (const follower of this.followers) follower.pump();
  }
}

/** The position of one reader in an answer. It queues nothing: a slow reader gets larger parts. */
export class Follower {
  private readonly run: AnswerRun;
  private readonly reader: RunReader;
  private readonly progress = new Map<string, Progress>();
  private isOver = false;

  constructor(run: AnswerRun, reader: RunReader) {
    this.run = run;
    this.reader = reader;
  }

  /** Passes on what the reader takes now. Call it when the reader can take more. */
  pump(): void {
    if (this.isOver) return;
    if (!this.pumpKind("thought") || !this.pumpKind("text")) return;
    if (!this.run.end || !this.reader.isWritable()) return;
    this.isOver = true;
    this.stop();
    this.reader.over(this.run.end);
  }

  /** The reader has left. */
  stop(): void {
    this.isOver = true;
    this.run.detach(this);
  }

  noteReplaced({ id, text }: Pick<RunMessage, "id" | "text">, old: string): void {
    const progress = this.progress.get(id);
    if (!progress) return;
    const sent = progress.staleText ?? old.slice(0, progress.sent);
    progress.staleText = text.startsWith(sent) ? undefined : sent;
  }

  /** @returns False if the reader takes no more now. */
  private pumpKind(kind: TextKind): boolean {
    for (const message of this.run.messages) {
      if (message.kind !== kind || this.progress.get(message.id)?.isDone) continue;
      if (!this.pumpMessage(message)) return false;
      if (!message.isClosed) return true;
    }
    return true;
  }

  private progressOf(id: string): Progress {
    const known = this.progress.get(id);
    if (known) return known;
    const progress: Progress = { sent: 0, staleText: undefined, isDone: false };
    this.progress.set(id, progress);
    return progress;
  }

  private pumpMessage(message: RunMessage): boolean {
    const { reader } = this;
    const { id, kind, text, isClosed } = message;
    if (!reader.isWritable()) return false;
    const progress = this.progressOf(id);
    if (progress.staleText === undefined && !message.isRemoved) {
      const cut = !isClosed && isHighSurrogate(text.charCodeAt(text.length - 1)) ? 1 : 0;
      const upTo = text.length - cut;
      while (progress.sent < upTo) {
        if (!reader.isWritable()) return false;
        const more = pieceOf(text, progress.sent, upTo);
        progress.sent += more.length;
        reader.grew(id, kind, more);
      }
      if (isClosed && !reader.isWritable()) return false;
    }
    if (!isClosed) return true;
    progress.isDone = true;
    if (!message.isRemoved) {
      const { staleText } = progress;
      if (staleText !== undefined && staleText.trimEnd() !== text.trimEnd())
        reader.replaced(id, kind, text);
      if (message.calls.length > 0) reader.toolCalls(id, message.calls);
      if (message.media.length > 0) reader.attachments(id, message.media);
    }
    if (progress.sent > 0) reader.closed(id, kind);
    return true;
  }
}
