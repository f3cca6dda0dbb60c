/** Groups messages into rows: one answer with its steps for each request. @module */
import type { AppMessage, Message, Run, Thread, UserMessage } from "./thread.ts";

/** A thought or a tool call of an answer. */
export interface Step {
  readonly message: AppMessage;
  /** Milliseconds; undefined while it runs. */
  readonly ms?: number;
}

/** Steps in a row, or one text, plan or notice. */
type Segment =
  | { readonly kind: "steps"; readonly key: string; readonly steps: readonly Step[] }
  | { readonly kind: "text"; readonly key: string; readonly message: AppMessage };

type AnswerState = "working" | "done" | "stopped" | "failed" | "incomplete";

/** All messages of the application about one request. */
export interface Answer {
  readonly kind: "answer";
  readonly key: string;
  readonly requestId?: string;
  readonly at: number;
  readonly segments: readonly Segment[];
  readonly state: AnswerState;
  readonly run?: Run;
  /** The message that it answers, if the page has it. */
  readonly question?: UserMessage;
}

/** One row of the page. */
export type Row = Answer | UserMessage | Extract<Message, { kind: "note" }>;

interface Draft {
  readonly key: string;
  readonly requestId: string | undefined;
  readonly question: UserMessage | undefined;
  readonly parts: AppMessage[];
}

/**
 * Assigns each message to its row. An answer follows its question, whatever came in between. If
 * the page does not have the question, the answer is at its first message, or at the end.
 */
function collect({ messages, runs }: Thread): (Draft | Exclude<Row, Answer>)[] {
  const questions = new Map(
    messages.flatMap((one) => (one.kind === "user" ? [[one.requestId, one] as const] : [])),
  );
  const rows: (Draft | Exclude<Row, Answer>)[] = [];
  const drafts = new Map<string, Draft>();
  const draftOf = (requestId: string): Draft => {
    const known = drafts.get(requestId);
    if (known) return known;
    const question = questions.get(requestId);
    const draft: Draft = { key: `answer ${requestId}`, requestId, question, parts: [] };
    drafts.set(requestId, draft);
    if (!question) rows.push(draft);
    return draft;
  };
  for (const message of messages) {
    if (message.kind === "note") rows.push(message);
    else if (message.kind === "user") rows.push(message, draftOf(message.requestId));
    else if (message.kind === "notice" && message.requestId === undefined)
      rows.push({ ...message, kind: "note" });
    else if (message.requestId !== undefined) draftOf(message.requestId).parts.push(message);
    else {
      const last = rows.at(-1);
      const isOpen = last && "parts" in last && last.requestId === undefined && !hasText(last);
      if (isOpen) last.parts.push(message);
      else
        rows.push({
          key: message.key,
          requestId: undefined,
          question: undefined,
          parts: [message],
        });
    }
  }
  for (const [requestId, { endedAt }] of runs) if (endedAt === undefined) draftOf(requestId);
  return rows;
}

const hasText = ({ parts }: Draft): boolean => parts.some(({ kind }) => kind === "text");

/**
 * A tool runs until the next message. A thought that has grown ends then at the latest: its final
 * text may follow at the end of the answer. A complete thought began with the previous message.
 */
function durationOf(parts: readonly AppMessage[], at: number, draft: Draft, run?: Run) {
  const { kind, at: beganAt, endedAt, isFinal } = parts[at]!;
  const nextAt = parts[at + 1]?.at ?? run?.endedAt;
  if (kind === "tools" || !isFinal) return nextAt === undefined ? undefined : nextAt - beganAt;
  if (endedAt !== undefined) return Math.min(endedAt, nextAt ?? endedAt) - beganAt;
  const previous = parts[at - 1];
  return beganAt - (previous?.endedAt ?? previous?.at ?? draft.question?.at ?? beganAt);
}

function toSegments(draft: Draft, run: Run | undefined): Segment[] {
  const { parts } = draft;
  const segments: Segment[] = [];
  let steps: Step[] | undefined;
  for (const [at, message] of parts.entries()) {
    const { kind, key } = message;
    if (kind === "text" || kind === "plan" || kind === "notice") {
      steps = undefined;
      segments.push({ kind: "text", key, message });
      continue;
    }
    const ms = durationOf(parts, at, draft, run);
    if (!steps) segments.push({ kind: "steps", key: `steps ${key}`, steps: (steps = []) });
    steps.push({ message, ...(ms !== undefined && { ms: Math.max(0, ms) }) });
  }
  return segments;
}

function stateOf({ parts }: Draft, run: Run | undefined): AnswerState {
  if (run && run.endedAt === undefined) return "working";
  if (run?.outcome === "failed" || run?.outcome === "lost") return "failed";
  if (run?.outcome === "stopped" || run?.finishReason === "stopped") return "stopped";
  if (run?.outcome === undefined && parts.at(-1)?.isCut) return "stopped";
  return parts.some(({ isFinal, asked }) => !isFinal && !asked) ? "incomplete" : "done";
}

function toAnswer(draft: Draft, run: Run | undefined): Answer {
  const { key, requestId, parts, question } = draft;
  return {
    kind: "answer",
    key,
    at: parts[0]?.at ?? question?.at ?? run?.startedAt ?? 0,
    segments: toSegments(draft, run),
    state: stateOf(draft, run),
    ...(requestId !== undefined && { requestId }),
    ...(run && { run }),
    ...(question && { question }),
  };
}

/**
 * Messages that wait for an answer before them: the application has received none of them. Their
 * own answers have not begun.
 *
 * @returns The rows without the answers that have not begun, and the keys of the messages.
 */
export function findQueued(rows: readonly Row[]): {
  readonly rows: readonly Row[];
  readonly queued: readonly UserMessage[];
} {
  const queued: UserMessage[] = [];
  let isWorking = false;
  const shown = rows.filter((row) => {
    if (row.kind === "user" && row.delivery === "sending" && isWorking) queued.push(row);
    if (row.kind !== "answer" || row.state !== "working") return true;
    const isWaiting = row.question !== undefined && queued.includes(row.question);
    if (!isWaiting) isWorking = true;
    return !(isWaiting && row.segments.length === 0);
  });
  return queued.length === 0 ? { rows, queued } : { rows: shown, queued };
}

/** Creates a function that groups a thread. Unchanged answers keep their identity. */
export function createGrouper(): (thread: Thread) => readonly Row[] {
  let cache = new Map<string, { parts: readonly AppMessage[]; run?: Run; answer: Answer }>();
  return (thread) => {
    const next: typeof cache = new Map();
    const rows = collect(thread).flatMap((row): readonly Row[] => {
      if (!("parts" in row)) return [row];
      const run = row.requestId === undefined ? undefined : thread.runs.get(row.requestId);
      const known = cache.get(row.key);
      const isSame =
        known?.run === run &&
        known?.answer.question === row.question &&
        known?.parts.length === row.parts.length &&
        row.parts.every((part, at) => part === known.parts[at]);
      const answer = known && isSame ? known.answer : toAnswer(row, run);
      next.set(row.key, { parts: row.parts, answer, ...(run && { run }) });
      // The work has not begun, or the application has ended it silently.
      return answer.segments.length === 0 && answer.state === "done" ? [] : [answer];
    });
    cache = next;
    return rows;
  };
}
