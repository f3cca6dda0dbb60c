/** The messages of a conversation on the page, as plain data. @module */
/** A file of a message. Without a `url`, it was too large to be repeated. */
export interface ShownFile {
  readonly url?: string;
  readonly name: string;
  readonly type?: string;
}

/** How far a message of this browser got. */
export type Delivery = "sending" | "waiting" | "delivered" | "failed";

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

/** A message of the application. */
export interface AppMessage extends Common {
  readonly kind: "text" | "thought" | "tools";
  readonly requestId?: string;
  readonly isFinal: boolean;
  /** Unix milliseconds of the final text, if the message has grown on this page. */
  readonly endedAt?: number;
  readonly calls: readonly unknown[];
  readonly files: readonly ShownFile[];
  readonly model?: string;
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
  /** `completed`, `stopped` or `failed`. */
  readonly outcome?: string;
  readonly finishReason?: string;
  /** Code of the error, with the outcome `failed`. */
  readonly code?: string;
  readonly tokens?: number;
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
}

export const emptyThread: Thread = {
  messages: [],
  runs: new Map(),
  isTyping: false,
  canStop: false,
};

export const userKey = (id: string): string => `user ${id}`;
export const appKey = (id: string): string => `app ${id}`;

/** Replaces the message with the same key, or adds it at its position. */
function put(messages: readonly Message[], message: Message): readonly Message[] {
  const known = messages.findLastIndex(({ key }) => key === message.key);
  if (known >= 0) return messages.with(known, message);
  const { seq } = message;
  if (seq === undefined) return [...messages, message];
  const before = messages.findLastIndex((other) => other.seq !== undefined && other.seq < seq);
  const isNewest = !messages.some((other) => other.seq !== undefined && other.seq > seq);
  return isNewest ? [...messages, message] : messages.toSpliced(before + 1, 0, message);
}

export const putIn = (thread: Thread, message: Message): Thread => ({
  ...thread,
  messages: put(thread.messages, message),
});

export function patchUser(thread: Thread, requestId: string, change: Partial<UserMessage>): Thread {
  const at = thread.messages.findLastIndex(({ key }) => key === userKey(requestId));
  const message = thread.messages[at];
  if (message?.kind !== "user") return thread;
  return { ...thread, messages: thread.messages.with(at, { ...message, ...change }) };
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

/** Shows how far a sent message got. A failed one has no run. */
export function setDelivery(
  thread: Thread,
  requestId: string,
  delivery: Delivery,
  reason = "",
): Thread {
  const changed = patchUser(thread, requestId, { delivery, reason });
  if (delivery !== "failed" || !thread.runs.has(requestId)) return changed;
  const runs = new Map(thread.runs);
  runs.delete(requestId);
  return { ...changed, runs };
}

export function addNote(thread: Thread, content: string, at: number): Thread {
  const key = `note ${at} ${thread.messages.length}`;
  return putIn(thread, { kind: "note", key, at, content });
}

/** The server knows only messages that the application has accepted. */
export const canEdit = ({ delivery }: UserMessage): boolean =>
  delivery !== "sending" && delivery !== "waiting";
