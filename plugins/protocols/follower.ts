// Passes a growing answer on to one reader, at the pace of that reader.
import { keyOf } from "../../lib/util.ts";
import type {
  AnswerEnd,
  InboundMessage,
  Media,
  PlanEntry,
  Question,
  ToolCall,
} from "../channels/index.ts";
import { runQuestionOf, type AskedQuestion, type RunQuestion } from "./questions.ts";

/** Messages of other clients that wait for a slow reader. */
const maxTurns = 64;

/** The end of a run: an outcome of the application, or the error that a client is shown. */
export type RunEnd = AnswerEnd & {
  readonly error?: unknown;
  /** Calls that the client must run, after a completed answer. */
  readonly calls?: readonly ToolCall[];
  /** Questions of the answer that are open at its end. */
  readonly asks?: readonly RunQuestion[];
};
/** The end of a response whose answer continues, or that has none. */
export const openEnd = { outcome: "completed", finishReason: "stop", messages: 0 } as const;
export type TextKind = "text" | "thought";

/** How a reader follows an answer. */
export interface FollowOptions {
  /**
   * True if the reader can show several messages at a time, and replace text while it grows. Others
   * receive one message of each kind at a time, as a single text can show it.
   */
  readonly isParallel?: boolean;
  /** True if the reader receives no thoughts. */
  readonly hidesThoughts?: boolean;
  /** The part of the answer that the reader has. It receives the rest only. */
  readonly from?: RunMark | undefined;
  /** Whether the reader ends with `waits` while questions of this form are open. */
  readonly endsOn?: (question: Question) => boolean;
  /** Called when the first question of the answer opens, and when the last one is settled. */
  readonly onAsking?: (isAsking: boolean) => void;
  /** Called after the last call of the reader, unless the reader has left. */
  readonly done?: () => void;
}

/** Receives an answer. A call follows only while `isWritable` returns true, except for `over`. */
export interface RunReader {
  /** False while earlier text waits to be written to the client. */
  isWritable(): boolean;
  /** The message grew by this text. The first call begins it. */
  grew(id: string, kind: TextKind, more: string): void;
  /** The text that the reader has received was replaced. `whole` is the final text, or the text so
   *  far if the reader is parallel. */
  replaced(id: string, kind: TextKind, whole: string): void;
  /** The reader has received the whole text of the message. */
  closed(id: string, kind: TextKind): void;
  attachments(id: string, media: readonly Media[]): void;
  toolCall(call: ToolCall): void;
  /** The call has a result or an error. `toolCall` came before. */
  toolResult(call: ToolCall): void;
  /** The plan is new, or replaces the earlier one of this message. */
  plan?(id: string, entries: readonly PlanEntry[]): void;
  /** The application asks. The text of a question does not grow the answer. */
  asked(question: RunQuestion): void;
  /** The question is settled. `asked` came before. */
  settled(question: RunQuestion): void;
  /** Nothing follows until open questions are settled, so the reader ends before the answer. */
  waits?(questions: readonly RunQuestion[]): void;
  /** Another client of the session sent a message. */
  turn?(message: InboundMessage): void;
  over(end: RunEnd): void;
}

/** One message of the application. */
export interface RunMessage {
  readonly id: string;
  readonly kind: TextKind;
  text: string;
  media: readonly Media[];
  calls: readonly ToolCall[];
  /** Calls for the client. They leave at the end of a completed answer. */
  clientCalls: readonly ToolCall[];
  /** Set if the message is a plan. It has no text then. */
  plan?: readonly PlanEntry[];
  /** Set if the message is a question, to which the answer waits. */
  asked?: AskedQuestion;
  /** The question is settled, and its message may say so later. */
  isSettled?: boolean;
  isClosed: boolean;
  isRemoved: boolean;
}

/** The answer that a reader follows. */
export interface FollowedRun {
  /** In the order of their first text. */
  readonly messages: readonly RunMessage[];
  /** Undefined while the application answers. */
  readonly end: RunEnd | undefined;
  /** The open questions, once nothing else is written. */
  readonly waiting: readonly RunQuestion[];
  /** Ends the calls of {@link Follower.pump}. */
  detach(follower: Follower): void;
}

/** The part of a message that one reader has received. */
interface Progress {
  sent: number;
  /** The text as it was sent, once it differs from the message. */
  staleText: string | undefined;
  /** The calls that were passed on. */
  calls: readonly ToolCall[];
  /** The plan that was passed on. */
  plan: readonly PlanEntry[] | undefined;
  isAsked: boolean;
  isDone: boolean;
}

const nothingSent: Readonly<Progress> = {
  sent: 0,
  staleText: undefined,
  calls: [],
  plan: undefined,
  isAsked: false,
  isDone: false,
};

/** Message -> the part of it that a reader has. */
export type RunMark = ReadonlyMap<string, Readonly<Progress>>;

/** Returns the mark of a reader that has received everything. */
export const markOf = (messages: readonly RunMessage[]): RunMark =>
  new Map(
    messages.map(({ id, text, calls, plan, asked, isClosed }) => {
      const isAsked = asked !== undefined;
      const sent = isAsked ? 0 : isClosed ? text.length : upToOf(text);
      return [id, { ...nothingSent, sent, calls, plan, isAsked, isDone: isClosed }];
    }),
  );

const maxPieceLength = 64 * 1024;

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

/** A part small enough for the progress of a slow reader to be visible. */
function pieceOf(text: string, from: number, upTo: number): string {
  const end = Math.min(upTo, from + maxPieceLength);
  const cut = end < upTo && isHighSurrogate(text.charCodeAt(end - 1)) ? 1 : 0;
  return text.slice(from, end - cut);
}

/** The end of the text that a reader may have: a surrogate pair is not divided. */
export const upToOf = (text: string): number =>
  text.length - (isHighSurrogate(text.charCodeAt(text.length - 1)) ? 1 : 0);

export const hasResult = ({ result, error }: ToolCall): boolean =>
  result !== undefined || error !== undefined;

/** Remembers which tool calls of an answer one reader has, and which of them have a result. */
export class CallLog {
  /** Message and call -> whether the result is known. */
  private readonly known = new Map<string, boolean>();
  /** Call -> the key of its latest message. A later message may only add the result. */
  private readonly latest = new Map<string, string>();

  /** Returns which parts of the call are new. */
  add(messageId: string, call: ToolCall): { readonly isCall: boolean; readonly isResult: boolean } {
    const own = keyOf(messageId, call.id);
    const isDone = hasResult(call);
    const before = this.latest.get(call.id);
    const isAddition = isDone && before !== undefined && this.known.get(before) === false;
    const key = this.known.has(own) || !isAddition ? own : before;
    const was = this.known.get(key);
    this.known.set(key, isDone || was === true);
    this.known.set(own, isDone || was === true);
    this.latest.set(call.id, own);
    return { isCall: was === undefined, isResult: isDone && was !== true };
  }
}

/** The position of one reader in an answer. It queues nothing: a slow reader gets larger parts. */
export class Follower {
  private readonly calls = new CallLog();
  private readonly run: FollowedRun;
  private readonly reader: RunReader;
  private readonly options: FollowOptions;
  private readonly progress = new Map<string, Progress>();
  private turns: InboundMessage[] = [];
  private isOver = false;

  constructor(run: FollowedRun, reader: RunReader, options: FollowOptions) {
    this.run = run;
    this.reader = reader;
    this.options = options;
    for (const [id, progress] of options.from ?? []) {
      for (const call of progress.calls) this.calls.add(id, call);
      this.progress.set(id, { ...progress });
    }
  }

  /** Passes on what the reader takes now. Call it when the reader can take more. */
  pump(): void {
    if (this.isOver || !this.pumpTurns()) return;
    if (this.options.isParallel) {
      if (!this.pumpAll()) return;
    } else if (!this.pumpKind("thought") || !this.pumpKind("text")) return;
    const { end, waiting } = this.run;
    if (!this.reader.isWritable()) return;
    if (end) return this.finish(end);
    if (!this.endsOn(waiting)) return;
    this.end(() => this.reader.waits?.(waiting));
  }

  /** Ends the reader, also before the answer. */
  finish(end: RunEnd): void {
    if (!this.isOver) this.end(() => this.reader.over(end));
  }

  private end(tell: () => void): void {
    this.stop();
    try {
      tell();
    } finally {
      this.options.done?.();
    }
  }

  private endsOn(waiting: readonly RunQuestion[]): boolean {
    const { endsOn = () => false } = this.options;
    const blocking = waiting.filter(({ isDurable }) => isDurable !== true);
    return blocking.length > 0 && blocking.every(({ question }) => endsOn(question));
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

  noteAsking(isAsking: boolean): void {
    if (!this.isOver) this.options.onAsking?.(isAsking);
  }

  noteTurn(message: InboundMessage): void {
    if (!this.reader.turn) return;
    this.turns.push(message);
    if (this.turns.length > maxTurns) this.turns.shift();
  }

  private pumpTurns(): boolean {
    while (this.turns.length > 0) {
      if (!this.reader.isWritable()) return false;
      this.reader.turn?.(this.turns.shift()!);
    }
    return true;
  }

  private pumpAll(): boolean {
    for (const message of this.run.messages) if (!this.pumpOne(message)) return false;
    return true;
  }

  /** @returns False if the reader takes no more now. */
  private pumpKind(kind: TextKind): boolean {
    for (const message of this.run.messages) {
      if (message.kind !== kind) continue;
      if (!this.pumpOne(message)) return false;
      if (!message.isClosed && !message.asked && !this.isHidden(message)) return true;
    }
    return true;
  }

  private isHidden({ kind }: RunMessage): boolean {
    return this.options.hidesThoughts === true && kind === "thought";
  }

  /** @returns False if the reader takes no more now. */
  private pumpOne(message: RunMessage): boolean {
    if (this.isHidden(message)) return true;
    const progress = this.progress.get(message.id);
    if (!progress?.isDone) return this.pumpMessage(message);
    if (progress.calls === message.calls && progress.plan === message.plan) return true;
    if (!this.reader.isWritable()) return false;
    this.pumpCalls(message, progress);
    return true;
  }

  private pumpMessage(message: RunMessage): boolean {
    const { reader } = this;
    if (!reader.isWritable()) return false;
    const progress = this.progress.get(message.id) ?? { ...nothingSent };
    this.progress.set(message.id, progress);
    if (message.asked) return this.pumpQuestion(message, message.asked, progress);
    if (!message.isRemoved && !this.pumpText(message, progress)) return false;
    if (!message.isRemoved) this.pumpCalls(message, progress);
    if (!message.isClosed) return true;
    progress.isDone = true;
    if (!message.isRemoved) this.finishMessage(message, progress);
    if (progress.sent > 0) reader.closed(message.id, message.kind);
    return true;
  }

  private pumpQuestion(message: RunMessage, asked: AskedQuestion, progress: Progress): true {
    const question = runQuestionOf(message, asked);
    if (!progress.isAsked) this.reader.asked(question);
    progress.isAsked = true;
    progress.isDone = message.isClosed;
    if (asked.question.state === "settled") this.reader.settled(question);
    return true;
  }

  /** @returns False if the reader takes no more now. */
  private pumpText({ id, kind, text, isClosed }: RunMessage, progress: Progress): boolean {
    const { reader } = this;
    const upTo = isClosed ? text.length : upToOf(text);
    if (progress.staleText !== undefined) {
      if (!this.options.isParallel) return true;
      progress.staleText = undefined;
      progress.sent = upTo;
      reader.replaced(id, kind, text.slice(0, upTo));
    }
    while (progress.sent < upTo) {
      if (!reader.isWritable()) return false;
      const more = pieceOf(text, progress.sent, upTo);
      progress.sent += more.length;
      reader.grew(id, kind, more);
    }
    return !isClosed || reader.isWritable();
  }

  private pumpCalls({ id, calls, plan, isRemoved }: RunMessage, progress: Progress): void {
    if (plan && progress.plan !== plan && !isRemoved) this.reader.plan?.(id, plan);
    progress.plan = plan;
    if (progress.calls === calls) return;
    progress.calls = calls;
    for (const call of calls) {
      const news = this.calls.add(id, call);
      if (news.isCall) this.reader.toolCall(call);
      if (news.isResult) this.reader.toolResult(call);
    }
  }

  private finishMessage({ id, kind, text, media }: RunMessage, progress: Progress): void {
    const { reader } = this;
    const { staleText } = progress;
    if (staleText !== undefined && staleText.trimEnd() !== text.trimEnd())
      reader.replaced(id, kind, text);
    if (media.length > 0) reader.attachments(id, media);
  }
}
