// ?wait= of POST /pico/messages: collects the replies of a session for the response.
import type { ServerResponse } from "node:http";
import type { Awaitable, Clock } from "../../../kernel/index.ts";
import {
  formatCursor,
  questionContent,
  type AnswerEndFrame,
  type AnswerEndPayload,
  type ServerMessage,
  type WireQuestion,
} from "../../../lib/pico-wire/index.ts";
import type { RecentEnds } from "../session/channel-adapter.ts";
import type { Peer } from "../connection/registry.ts";
import type { Admission } from "../handshake/admission.ts";
import { frameTypeOf, isNotice, splitNumberedFrame } from "../frame-encoding.ts";
import type { Cursor, SequencedEntry, SessionLog, Subscriber } from "../../conversations/index.ts";
import { unscheduled } from "../connection/liveness.ts";

/** Longest time in seconds that a request may wait for replies. */
export const maxWaitSeconds = 60;

/** @returns The wait in seconds, or undefined if the parameter is malformed. */
export function readWait(params: URLSearchParams): number | undefined {
  const [text = "0", ...more] = params.getAll("wait");
  const seconds =
    more.length === 0 && /^\d{1,5}(?:\.\d{1,3})?$/.test(text) ? Number(text) : undefined;
  return seconds === undefined ? undefined : Math.min(seconds, maxWaitSeconds);
}

interface ReplyWaitOptions {
  readonly response: ServerResponse;
  readonly id: string;
  /** Id of the posted message. */
  readonly request: string;
  readonly session: string;
  readonly seconds: number;
  readonly admission: Pick<Admission, "version" | "sender" | "identity">;
}

interface ReplyWaitContext {
  readonly sessions: SessionLog;
  readonly ends: Pick<RecentEnds, "watch">;
  readonly clock: Clock;
  readonly isBusy: (session: string) => boolean;
}

interface CollectedReplies {
  readonly messages: readonly unknown[];
  /** Cursor of the last message. A client can resume there with `Last-Event-ID`. */
  readonly cursor?: string;
  /** The first open question of the answer. */
  readonly question?: PendingQuestion;
}

/** An open question, with the id that an answer names. */
type PendingQuestion = Pick<ServerMessage, "message_id" | "content"> & WireQuestion;

/** `closed`: the client or the server closed the connection. */
type WaitEnd = "timed_out" | "closed" | "asked";

type ReplyFrame =
  | { readonly type: "message.create" | "message.update"; readonly payload: ServerMessage }
  | { readonly type: "message.delete"; readonly payload: Pick<ServerMessage, "message_id"> };

/**
 * Decides when the answer to a request is complete: it has ended and no message is unfinished.
 * Questions outside the answer have no effect on it.
 */
class ReplyCollector {
  private readonly request: string;
  private readonly unfinished = new Set<string>();
  private readonly questions = new Map<string, PendingQuestion>();
  private hasReply = false;
  private outcome: string | undefined;

  constructor(request: string) {
    this.request = request;
  }

  add({ type, payload }: ReplyFrame): void {
    if (type !== "message.delete" && payload.question) return this.addQuestion(payload);
    this.questions.delete(payload.message_id);
    if (type === "message.create" && !payload.final)
      return void this.unfinished.add(payload.message_id);
    this.unfinished.delete(payload.message_id);
    if (type === "message.delete" || payload.kind !== undefined) return;
    this.hasReply ||= payload.request_id === undefined || payload.request_id === this.request;
  }

  private addQuestion({ message_id, content, request_id, question }: ServerMessage): void {
    if (request_id !== this.request || !question) return;
    if (question.state === "open") {
      const asked = { message_id, content: questionContent(content), ...question };
      return void this.questions.set(message_id, asked);
    }
    this.questions.delete(message_id);
    this.hasReply = true;
  }

  /** @returns The question that has been open for longest. */
  question(): PendingQuestion | undefined {
    const [first] = this.questions.values();
    return first;
  }

  noteEnd({ request_id, outcome }: AnswerEndPayload): void {
    if (request_id === this.request) this.outcome = outcome;
  }

  isComplete(): boolean {
    const { outcome, hasReply, unfinished } = this;
    if (outcome === undefined || unfinished.size > 0) return false;
    return hasReply || outcome !== "completed";
  }
}

/** Subscribes to the session immediately. The caller must call `stop`. */
export class ReplyWaiter implements Subscriber {
  readonly peer: Peer;
  /** `asked`: the answer waits for a person, so the application accepts the message later. */
  readonly ended: Promise<WaitEnd>;
  /** A promise until replies can be received. It rejects if the session log cannot be read. */
  readonly subscribed: Awaitable<void>;
  private readonly context: ReplyWaitContext;
  private readonly options: ReplyWaitOptions;
  private readonly collector: ReplyCollector;
  private readonly received: { readonly frame: ReplyFrame; readonly cursor: Cursor }[] = [];
  private readonly timer: unknown;
  private readonly onAsked: () => void;
  private readonly onClose: () => void;
  private readonly stopSignOutWatch: (() => void) | undefined;
  private onComplete = (): void => undefined;

  constructor(context: ReplyWaitContext, options: ReplyWaitOptions) {
    const { sessions, clock, ends } = context;
    const { response, request, session, seconds, admission } = options;
    this.context = context;
    this.options = options;
    this.collector = new ReplyCollector(request);
    let end: (how: WaitEnd) => void = () => undefined;
    this.ended = new Promise<WaitEnd>((resolve) => void (end = resolve));
    this.onAsked = () => end("asked");
    this.onClose = () => end("closed");
    this.timer = clock.setTimeout(() => end("timed_out"), seconds * 1_000);
    this.peer = this.createPeer();
    ends.watch(session);
    this.subscribed = sessions.subscribe(session, this, { resumes: true, ends: true });
    response.once("close", this.onClose);
    this.stopSignOutWatch = admission.identity?.onEnd(this.onClose);
  }

  onEntry(entry: SequencedEntry): void {
    const type = frameTypeOf(entry);
    const { frame, cursor } = entry;
    if (type === "answer.end") {
      const { payload } = JSON.parse(Buffer.from(frame).toString()) as AnswerEndFrame;
      this.collector.noteEnd(payload);
      return void (this.collector.isComplete() && this.onComplete());
    }
    if (!entry.numbered || type === "message.user" || isNotice(entry)) return;
    const [head, tail] = splitNumberedFrame(frame, cursor);
    const replyFrame = JSON.parse(Buffer.from(head).toString() + tail) as ReplyFrame;
    this.received.push({ frame: replyFrame, cursor });
    this.collector.add(replyFrame);
    if (this.collector.question()) return this.onAsked();
    if (this.collector.isComplete()) this.onComplete();
  }

  /**
   * Resolves when the answer or the wait has ended, or a question is open. A completed answer
   * without a reply may still receive one. Thoughts and tool calls do not count as a reply.
   */
  async replies(): Promise<CollectedReplies> {
    const complete = new Promise<void>((resolve) => void (this.onComplete = resolve));
    if (!this.collector.isComplete()) await Promise.race([complete, this.ended]);
    return this.collect();
  }

  stop(): void {
    const { clock, sessions } = this.context;
    const { response, session } = this.options;
    clock.clearTimeout(this.timer);
    response.off("close", this.onClose);
    this.stopSignOutWatch?.();
    sessions.unsubscribe(session, this);
  }

  private collect(): CollectedReplies {
    const { received } = this;
    const { response, session } = this.options;
    const last = received.at(-1)?.cursor;
    if (!last || response.destroyed) return { messages: [] };
    const range = { epoch: last.epoch, after: received[0]!.cursor.seq - 1, upTo: last.seq };
    this.context.sessions.note(session, range, "answered");
    const question = this.collector.question();
    return {
      messages: received.map(({ frame }) => frame),
      cursor: formatCursor(last),
      ...(question && { question }),
    };
  }

  private createPeer(): Peer {
    const { clock, isBusy } = this.context;
    const { id, admission, session } = this.options;
    const { version: tokenVersion, sender } = admission;
    const startedAt = clock.now();
    return {
      id,
      tokenVersion,
      sender,
      close: this.onClose,
      dueAt: unscheduled,
      check: () => maxWaitSeconds * 1_000,
      usesSession: (other) => other === session,
      isBusy: () => isBusy(session),
      byteCounts: () => ({ in: 0, out: 0 }),
      traffic: () => ({
        messagesIn: 1,
        messagesOut: this.received.length,
        queuedBytes: 0,
        lastHeardAt: startedAt,
      }),
    };
  }
}
