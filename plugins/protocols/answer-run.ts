// Collects the answer to one message, and passes it on to its readers.
import { codeOf, type Clock } from "../../kernel/index.ts";
import type { AnswerEnd, InboundMessage, OutboundMessage, ToolCall } from "../channels/index.ts";
import type { ProtocolSubscriber } from "../pico-server/index.ts";
import {
  Follower,
  hasResult,
  markOf,
  upToOf,
  type FollowedRun,
  type FollowOptions,
  type RunEnd,
  type RunMark,
  type RunMessage,
  type RunReader,
} from "./follower.ts";
import { runQuestionOf, type RunQuestion } from "./questions.ts";
import { refuse, stoppingRefusal } from "./errors.ts";
import { maxTools } from "./tools.ts";

/** Texts of one answer, in UTF-16 code units. A longer answer fails. */
const maxAnswerLength = 16 * 1024 * 1024;

/** The names under which tool calls leave, and the tools that the request of a client offers. */
interface CallNames {
  readonly offered: ReadonlySet<string>;
  /** Returns the id under which a call of the application leaves. */
  name(messageId: string, call: ToolCall): string;
  /** Records a call that the client must run. Returns it with its id for the client. */
  issue(messageId: string, call: ToolCall): ToolCall;
}

/** Time without news after which an answer with open questions waits. */
const quietMs = 300;

export interface RunOptions {
  /** Without it, calls leave as the application names them, and none is for the client. */
  readonly calls?: CallNames;
  /** Without it, the answer never waits. */
  readonly clock?: Pick<Clock, "setTimeout" | "clearTimeout">;
  /** Called when the first question opens, and when the last one is settled. */
  readonly onAsking?: (isAsking: boolean) => void;
}

/** A call of the application under the id with which it left. */
interface NamedCall {
  readonly messageId: string;
  readonly id: string;
  isDone: boolean;
}

/** One answer. Subscribe it to the session before the message is delivered. */
export class AnswerRun implements ProtocolSubscriber, FollowedRun {
  readonly requestId: string;
  /** In the order of their first text. */
  readonly messages: RunMessage[] = [];
  end: RunEnd | undefined;
  waiting: readonly RunQuestion[] = [];
  /** True while a question of the answer is open. */
  isAsking = false;
  /** Question -> what a reader that ended because of it has received. */
  private readonly marks = new Map<string, RunMark>();
  /** The messages whose answers this is. */
  protected readonly requests: Set<string>;
  private readonly questions: RunMessage[] = [];
  /** Id of the application -> the latest call of it that has left. */
  private readonly latestCalls = new Map<string, NamedCall>();
  private quiet: unknown;
  private readonly followers = new Set<Follower>();
  private readonly onOver: (end: RunEnd) => void;
  private readonly options: RunOptions;
  private error: unknown;
  private model: string | undefined;
  private isDelivered = false;
  private heldEnd: AnswerEnd | undefined;
  private length = 0;

  /** @param onOver - Called once, before the readers receive the end. */
  constructor(requestId: string, onOver: (end: RunEnd) => void, options: RunOptions = {}) {
    this.requestId = requestId;
    this.requests = new Set([requestId]);
    this.onOver = onOver;
    this.options = options;
  }

  /** Copies the answer so far, as a reader that begins at `markOf` it is expected to have it. */
  present(): readonly RunMessage[] {
    return this.messages.map((message) => {
      const { text, isClosed } = message;
      return { ...message, text: isClosed ? text : text.slice(0, upToOf(text)) };
    });
  }

  /** Begins to pass the answer so far, and everything after it, to a reader. */
  attach(reader: RunReader, options: FollowOptions = {}): Follower {
    const follower = new Follower(this, reader, options);
    this.followers.add(follower);
    if (this.isAsking) follower.noteAsking(true);
    return follower;
  }

  detach(follower: Follower): void {
    this.followers.delete(follower);
  }

  written(id: string, message: OutboundMessage, isFinal: boolean): void {
    const { inReplyTo, placeholder } = message;
    // Clients of a protocol know no words but the agent's.
    if (this.end || placeholder || message.kind === "notice") return;
    if (inReplyTo !== undefined && !this.requests.has(inReplyTo)) return;
    const known = this.find(id) ?? this.add(id, message);
    if (known.isRemoved) return;
    // A complete message may still receive the results of its calls.
    if (message.toolCalls) this.setCalls(known, message);
    if (message.kind === "plan") known.plan = message.entries ?? known.plan ?? [];
    if (known.isClosed) return this.changed();
    if (known.plan) {
      // Clients of a protocol see the entries alone. An update still replaces them.
      known.isClosed = true;
      return this.changed();
    }
    this.setText(known, message.content);
    this.setQuestion(known, message);
    if (message.attachments) known.media = message.attachments;
    this.model = message.model ?? this.model;
    known.isClosed = isFinal;
    this.changed();
  }

  removed(id: string): void {
    const message = this.find(id);
    if (!message || this.end) return;
    message.isClosed = message.isRemoved = true;
    this.changed();
  }

  turned(message: InboundMessage): void {
    if (this.end || this.requests.has(message.id)) return;
    for (const follower of this.followers) follower.noteTurn(message);
    this.pump();
  }

  failed(requestId: string, error: unknown): void {
    if (this.requests.has(requestId)) this.error = error;
  }

  ended(requestId: string, end: AnswerEnd): void {
    if (!this.requests.has(requestId)) return;
    if (end.code === "not_running") return this.fail(stoppingRefusal());
    if (this.requests.size > 1) return void this.requests.delete(requestId);
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
    const { error, model } = this;
    return { ...(model !== undefined && { model }), ...end, ...(error !== undefined && { error }) };
  }

  private find(id: string): RunMessage | undefined {
    return this.messages.find((message) => message.id === id);
  }

  private add(id: string, { kind }: OutboundMessage): RunMessage {
    const message: RunMessage = {
      id,
      kind: kind === undefined ? "text" : "thought",
      text: "",
      media: [],
      calls: [],
      clientCalls: [],
      isClosed: false,
      isRemoved: false,
    };
    this.messages.push(message);
    return message;
  }

  /** The answer waits for its own questions, unless they outlive it. */
  private setQuestion(known: RunMessage, { content, question, inReplyTo }: OutboundMessage): void {
    if (!question) return;
    if (!known.asked) this.questions.push(known);
    const named = this.latestCalls.get(question.toolCallId ?? "")?.id;
    const isBehind = ({ id }: ToolCall): boolean => id === named;
    const call = this.messages.flatMap(({ calls }) => calls).findLast(isBehind);
    const isDurable = inReplyTo === undefined || question.durable !== undefined;
    const asked = { content: known.asked?.content ?? content, question, call };
    known.asked = { ...asked, ...(isDurable && { isDurable }) };
  }

  /** The question is settled. Its message may say so later. */
  noteSettled(id: string): void {
    const message = this.questions.find((each) => each.id === id);
    if (!message) return;
    message.isSettled = true;
    this.changed();
  }

  /** Returns the question of this id. */
  question(id: string): RunQuestion | undefined {
    const message = this.questions.find((each) => each.id === id);
    return message?.asked && runQuestionOf(message, message.asked);
  }

  /** Returns the latest mark of these questions: the client that answers them has that part. */
  markOfLast(ids: readonly string[]): RunMark | undefined {
    return [...this.marks].findLast(([id]) => ids.includes(id))?.[1];
  }

  /** Calls for the client do not appear among the calls of the application. */
  private setCalls(known: RunMessage, { toolCalls = [], inReplyTo }: OutboundMessage): void {
    const isForClient = (call: ToolCall): boolean =>
      call.for === "client" &&
      inReplyTo !== undefined &&
      this.requests.has(inReplyTo) &&
      this.options.calls?.offered.has(call.name) === true &&
      !hasResult(call);
    known.clientCalls = toolCalls.filter(isForClient);
    known.calls = toolCalls
      .filter((call) => !isForClient(call))
      .map((call) => ({ ...call, id: this.nameCall(known.id, call) }));
  }

  /** A later message may only add the result of a call. Otherwise it is another call. */
  private nameCall(messageId: string, call: ToolCall): string {
    const latest = this.latestCalls.get(call.id);
    const isDone = hasResult(call);
    const isSame = latest && (latest.messageId === messageId || (isDone && !latest.isDone));
    if (isSame) {
      latest.isDone ||= isDone;
      return latest.id;
    }
    const id = this.options.calls?.name(messageId, call) ?? call.id;
    this.latestCalls.set(call.id, { messageId, id, isDone });
    return id;
  }

  /** The calls of a completed answer that the client must run. */
  private issueCalls({ outcome }: RunEnd): Pick<RunEnd, "calls"> {
    const { calls: names } = this.options;
    if (outcome !== "completed" || !names) return {};
    const calls = new Map<string, () => ToolCall>();
    for (const { id, isRemoved, clientCalls } of this.messages)
      for (const call of isRemoved ? [] : clientCalls)
        calls.set(call.id, () => names.issue(id, call));
    if (calls.size === 0) return {};
    return { calls: [...calls.values()].slice(0, maxTools).map((issue) => issue()) };
  }

  private setText(message: RunMessage, text: string): void {
    const old = message.text;
    message.text = text;
    this.length += text.length - old.length;
    if (!text.startsWith(old))
      for (const follower of this.followers) follower.noteReplaced(message, old);
    if (this.length > maxAnswerLength)
      this.fail(refuse("reply_too_large", "The reply is longer than 16 Mi characters."));
  }

  private finish(end: RunEnd): void {
    if (this.end) return;
    const asks = this.unsettled();
    for (const message of this.messages) message.isClosed = true;
    this.end = { ...end, ...this.issueCalls(end), ...(asks.length > 0 && { asks }) };
    this.watchQuestions();
    this.onOver(this.end);
    this.pump();
  }

  private unsettled(): readonly RunQuestion[] {
    const isOpen = ({ isClosed, isSettled }: RunMessage): boolean => !isClosed && !isSettled;
    const open = this.end ? [] : this.questions.filter(isOpen);
    return open.map((message) => runQuestionOf(message, message.asked!));
  }

  /** The open questions to which the answer waits. */
  get open(): readonly RunQuestion[] {
    return this.unsettled().filter(({ isDurable }) => isDurable !== true);
  }

  /** The answer waits when its questions are open and nothing else has been written for a while. */
  private watchQuestions(): void {
    if (this.questions.length === 0) return;
    const { clock, onAsking } = this.options;
    clock?.clearTimeout(this.quiet);
    this.waiting = [];
    const { open } = this;
    const isAsking = open.length > 0;
    const isChanged = isAsking !== this.isAsking;
    this.isAsking = isAsking;
    if (isChanged) {
      onAsking?.(isAsking);
      for (const follower of this.followers) follower.noteAsking(isAsking);
    }
    if (!isAsking) return;
    this.quiet = clock?.setTimeout(() => {
      this.waiting = this.unsettled();
      const mark = markOf(this.messages);
      for (const { id } of open) if (!this.marks.has(id)) this.marks.set(id, mark);
      this.pump();
    }, quietMs);
  }

  private changed(): void {
    this.watchQuestions();
    this.pump();
  }

  private pump(): void {
    for (const follower of this.followers) follower.pump();
  }
}
