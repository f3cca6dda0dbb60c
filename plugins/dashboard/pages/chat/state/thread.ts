/** The messages of a conversation on the page, as plain data. @module */
import type { RequestView } from "../../../shared/conversation-views.ts";
import type { QuestionView } from "../../../shared/question-views.ts";

/** A file of a message. Without a `url`, it was too large to be repeated. */
export interface ShownFile {
  readonly url?: string;
  readonly name: string;
  readonly type?: string;
  /** Bytes, if they are known. */
  readonly size?: number;
  /** Id of a file that the server stores. Messages name it by this id. */
  readonly id?: string;
}

/**
 * How far a message of this browser got. `received`: the application has it. `delivered`: it has
 * accepted it. `rejected`: it has rejected it. `stopped`: a person stopped it before. `failed`: the
 * application never had it. Rejected and stopped ones with a number are in the conversation.
 */
export type Delivery =
  | "sending"
  | "waiting"
  | "received"
  | "delivered"
  | "rejected"
  | "stopped"
  | "failed";

interface Common {
  /** Identifies the message on the page. */
  readonly key: string;
  /** Position in the conversation. Undefined until the server has numbered it. */
  readonly seq?: number;
  /** Unix milliseconds. */
  readonly at: number;
  readonly content: string;
}

/** A message of a person. */
export interface UserMessage extends Common {
  readonly kind: "user";
  readonly requestId: string;
  readonly files: readonly ShownFile[];
  /** Name of the person, if another one than the owner. */
  readonly sender?: string;
  /** `requestId` of the message that this one is a new version of. */
  readonly replaces?: string | undefined;
  /** Undefined for messages of other devices and of the history. */
  readonly delivery?: Delivery;
  /** The sentence of the error, with `failed`. */
  readonly reason?: string;
}

/** A question of the application, which its message asks. */
export type AskedQuestion = QuestionView["question"] & {
  /** Id of the question. */
  readonly id: string;
  /** The text. If the page did not see the question open, with the settlement. */
  readonly content: string;
  /** If nothing followed the answer: see `Turn`. */
  readonly unfinished?: QuestionView["unfinished"];
};

/** A message of the application. */
export interface AppMessage extends Common {
  readonly kind: "text" | "thought" | "tools" | "plan" | "notice";
  readonly requestId?: string;
  readonly isFinal: boolean;
  /** Unix milliseconds of the final text, if the message has grown on this page. */
  readonly endedAt?: number;
  readonly calls: readonly unknown[];
  /** The entries of a plan. */
  readonly entries?: readonly unknown[];
  readonly files: readonly ShownFile[];
  readonly model?: string;
  /** True if the history says that a stop has cut the text. */
  readonly isCut?: boolean;
  /** The question that the message asks. */
  readonly asked?: AskedQuestion;
}

/** A sentence about the connection. */
interface Note extends Common {
  readonly kind: "note";
}

export type Message = UserMessage | AppMessage | Note;

/** The work of the application on one message. */
export interface Run {
  readonly startedAt: number;
  readonly endedAt?: number;
  /** `completed`, `stopped`, `failed` or, in the history, `lost`. */
  readonly outcome?: string;
  readonly finishReason?: string;
  /** Code of the error, with the outcome `failed`. */
  readonly code?: string;
  /** The sentence of the error, if the application wrote one. */
  readonly reason?: string;
  /** Tokens of the answer, if the application reports them. */
  readonly usage?: RequestView["usage"];
  /** Messages that the application offers to send next. */
  readonly suggestions?: readonly string[];
  /** True if the server reports the end. Otherwise a complete text ends the run. */
  readonly isReported: boolean;
}

export interface Thread {
  readonly messages: readonly Message[];
  /** By request id. */
  readonly runs: ReadonlyMap<string, Run>;
  /** Share of the context of the application that is in use: 0 to 1. */
  readonly contextUse?: number;
  readonly isTyping: boolean;
  /** True if the server can stop messages and reports their end. */
  readonly canStop: boolean;
  /**
   * Number of the last frame when the server reported what runs. Frames up to it begin no run.
   */
  readonly joinedAt?: number;
}

export const emptyThread: Thread = {
  messages: [],
  runs: new Map(),
  isTyping: false,
  canStop: false,
};

export const userKey = (id: string): string => `user ${id}`;
export const appKey = (id: string): string => `app ${id}`;

/** True until the server has numbered a message that this browser sends. */
const isPending = (message: Message | undefined): boolean =>
  message?.kind === "user" &&
  message.seq === undefined &&
  (message.delivery === "sending" || message.delivery === "waiting");

/** Adds a message at its position. Numbered messages precede those that are on their way. */
function insert(messages: readonly Message[], message: Message): readonly Message[] {
  const { seq } = message;
  if (seq === undefined) return [...messages, message];
  let at = messages.findLastIndex((other) => other.seq !== undefined && other.seq < seq) + 1;
  if (!messages.some((other) => other.seq !== undefined && other.seq > seq)) {
    at = messages.length;
    while (isPending(messages[at - 1])) at -= 1;
  }
  return messages.toSpliced(at, 0, message);
}

/** Replaces the message with the same key, or adds it. A new number changes its position. */
function put(messages: readonly Message[], message: Message): readonly Message[] {
  const known = messages.findLastIndex(({ key }) => key === message.key);
  if (known < 0) return insert(messages, message);
  if (messages[known]!.seq === message.seq) return messages.with(known, message);
  return insert(messages.toSpliced(known, 1), message);
}

export const putIn = (thread: Thread, message: Message): Thread => ({
  ...thread,
  messages: put(thread.messages, message),
});

/** @returns The message of a person, if the page has it. */
export function userMessageOf({ messages }: Thread, requestId: string): UserMessage | undefined {
  const found = messages.findLast(({ key }) => key === userKey(requestId));
  return found?.kind === "user" ? found : undefined;
}

/** @returns The message of the application, if the page has it. */
export function appMessageOf({ messages }: Thread, key: string): AppMessage | undefined {
  const found = messages.findLast((message) => message.key === key);
  return found?.kind === "user" || found?.kind === "note" ? undefined : found;
}

export function patchUser(thread: Thread, requestId: string, change: Partial<UserMessage>): Thread {
  const message = userMessageOf(thread, requestId);
  return message ? putIn(thread, { ...message, ...change }) : thread;
}

export function setRun(thread: Thread, requestId: string, run: Run): Thread {
  return { ...thread, runs: new Map(thread.runs).set(requestId, run) };
}

export function beginRun(
  thread: Thread,
  requestId: string,
  at: number,
  isReported: boolean,
): Thread {
  const run = thread.runs.get(requestId);
  if (run && run.endedAt === undefined) return thread;
  return setRun(thread, requestId, { startedAt: run?.startedAt ?? at, isReported });
}

/** A message that this browser sends. */
export function addSent(
  thread: Thread,
  sent: Pick<UserMessage, "requestId" | "content" | "files" | "at" | "replaces">,
): Thread {
  const { requestId, at } = sent;
  const key = userKey(requestId);
  const added = putIn(thread, { ...sent, kind: "user", key, delivery: "sending" });
  return thread.canStop ? beginRun(added, requestId, at, true) : added;
}

const hasAnswer = ({ messages }: Thread, requestId: string): boolean =>
  messages.some(
    (message) =>
      message.kind !== "user" && "requestId" in message && message.requestId === requestId,
  );

/**
 * Shows how far a sent message got. One that is not on its way has no run, unless the application
 * has answered.
 */
export function setDelivery(
  thread: Thread,
  requestId: string,
  delivery: Delivery,
  reason = "",
): Thread {
  const message = userMessageOf(thread, requestId);
  if (!message) return thread;
  const isOnItsWay = delivery === "sending" || delivery === "waiting";
  // The application has written about the message, although it has not confirmed it.
  if (isOnItsWay && isReceived(message)) return thread;
  const changed = patchUser(thread, requestId, { delivery, reason });
  if (delivery === "sending" && thread.canStop)
    return beginRun(changed, requestId, message.at, true);
  if (delivery !== "failed" && delivery !== "waiting") return changed;
  return hasAnswer(thread, requestId) ? changed : forgetRun(changed, requestId);
}

export const forgetRun = (thread: Thread, requestId: string): Thread => ({
  ...thread,
  runs: new Map([...thread.runs].filter(([id]) => id !== requestId)),
});

export const forgetOpenRuns = (thread: Thread): Thread => ({
  ...thread,
  runs: new Map([...thread.runs].filter(([, { endedAt }]) => endedAt !== undefined)),
});

export function addNote(thread: Thread, content: string, at: number): Thread {
  const key = `note ${at} ${thread.messages.length}`;
  return putIn(thread, { kind: "note", key, at, content });
}

/** The server knows only messages that the application has accepted. */
export const canEdit = ({ delivery }: UserMessage): boolean =>
  delivery !== "sending" && delivery !== "waiting" && delivery !== "received";

/** True if the application ended before its question was answered, or after that with no word. */
export const isLeft = ({ settled, unfinished }: AskedQuestion): boolean =>
  settled?.outcome === "lost" || unfinished === "ended";

/** True for messages that the application has, whatever became of them. */
export const isReceived = ({ delivery }: UserMessage): boolean =>
  delivery === "received" || delivery === "delivered";

/** False for messages that another one cannot replace, because the conversation lacks them. */
export const isInConversation = ({ delivery, seq }: UserMessage): boolean =>
  seq !== undefined || (delivery !== "failed" && delivery !== "rejected" && delivery !== "stopped");
