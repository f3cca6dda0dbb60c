/** Applies the frames of the server to a conversation. Loaded with the link. @module */
import type { ChatQuestion } from "../../../../../lib/pico-link/browser.ts";
import type {
  ErrorPayload,
  RunningRequest,
  ServerFrame,
  ServerMessageFrame,
  UserTurn,
} from "../../../../../lib/pico-wire/index.ts";
import {
  appKey,
  appMessageOf,
  beginRun,
  canEdit,
  patchUser,
  putIn,
  setRun,
  userKey,
  userMessageOf,
  type AppMessage,
  type AskedQuestion,
  type Run,
  type Thread,
  type UserMessage,
} from "./thread.ts";
import { fileOf } from "../files/stored-file.ts";
import { kindOf, nameOf, toResultMessage } from "./turns.ts";

function endRun(
  thread: Thread,
  requestId: string,
  end: Partial<Run> & { endedAt: number },
): Thread {
  const run = thread.runs.get(requestId) ?? { startedAt: end.endedAt, isReported: true };
  // The server repeats the ends of the last answers after a resume.
  if (run.endedAt !== undefined && run.outcome !== undefined)
    return end.reason === undefined
      ? thread
      : setRun(thread, requestId, { ...run, reason: end.reason });
  return setRun(thread, requestId, { ...run, ...end, endedAt: run.endedAt ?? end.endedAt });
}

/** Errors whose sentences the application wrote. The history has these sentences. */
const writtenCodes: readonly string[] = [
  "application_refused",
  "application_ended",
  "bad_answer",
  "no_answer",
];

/** The end of the answer follows. */
function noteError(thread: Thread, { request_id: id, code, message }: ErrorPayload): Thread {
  const run = id === undefined ? undefined : thread.runs.get(id);
  return run && message && writtenCodes.includes(code)
    ? setRun(thread, id!, { ...run, reason: message })
    : thread;
}

function contextUseOf(usage: unknown): number | undefined {
  if (typeof usage !== "object" || usage === null) return undefined;
  const { used_tokens: used, total_tokens: total } = usage as Record<string, unknown>;
  if (typeof used !== "number" || typeof total !== "number" || total <= 0) return undefined;
  return Math.min(1, Math.max(0, used / total));
}

/** The application answers a message, so it is in the conversation. */
function noteAnswer(thread: Thread, requestId: string): Thread {
  const message = userMessageOf(thread, requestId);
  return message && !canEdit(message)
    ? patchUser(thread, requestId, { delivery: "delivered" })
    : thread;
}

/** Typing names no message. The application receives the messages of a session in order. */
function noteTyping(thread: Thread): Thread {
  const first = thread.messages.find(
    (message) => message.kind === "user" && message.delivery === "sending",
  );
  if (first?.kind !== "user") return thread;
  return patchUser(thread, first.requestId, { delivery: "received" });
}

let unnamed = 0;

function receiveMessage(thread: Thread, frame: ServerMessageFrame, now: number): Thread {
  const { payload, seq, timestamp: at = now } = frame;
  const { message_id: id, request_id: requestId, model_name: model } = payload;
  const key = appKey(id || `unnamed ${++unnamed}`);
  const before = appMessageOf(thread, key);
  // The history may have more of the text: the server repeats the beginning of one that was cut.
  if (before && frame.type === "message.create" && wasReported(thread, seq)) return thread;
  const kind = payload.thought ? "thought" : kindOf(payload.kind);
  const isFinal = payload.final === true;
  const number = before?.seq ?? seq;
  const message: AppMessage = {
    kind,
    key,
    at: before?.at ?? at,
    content: payload.content,
    isFinal,
    calls: payload.tool_calls ?? [],
    ...(payload.entries && { entries: payload.entries }),
    files: (payload.attachments ?? []).map(fileOf),
    ...(number !== undefined && { seq: number }),
    ...(requestId !== undefined && { requestId }),
    ...(before && isFinal && { endedAt: before.endedAt ?? at }),
    ...(model !== undefined && { model }),
    ...(before?.asked && { asked: before.asked }),
  };
  const contextUse = contextUseOf(payload.context_usage);
  const changed: Thread = {
    ...putIn(requestId === undefined ? thread : noteAnswer(thread, requestId), message),
    ...(contextUse !== undefined && { contextUse }),
    isTyping: false,
  };
  // A durable question outlives its run; hello reports the run of any other one.
  if (requestId === undefined || payload.question) return changed;
  const run = changed.runs.get(requestId);
  // A complete message without text is a part of an answer that continues.
  const isGrowing = isFinal ? kind !== "text" && !before : before?.isFinal !== true;
  if (isGrowing) {
    const mayBegin = !run || (!run.isReported && run.outcome === undefined);
    const begins = mayBegin && !wasReported(thread, seq);
    return begins ? beginRun(changed, requestId, at, false) : changed;
  }
  const isOver = kind === "text" && run?.isReported === false && run.endedAt === undefined;
  return isOver ? endRun(changed, requestId, { endedAt: at }) : changed;
}

function receiveTurn(thread: Thread, turn: UserTurn, seq: number | undefined, at: number): Thread {
  const { request_id: requestId, content, media, attachments, sender, replaces } = turn;
  const { tool_results: results } = turn;
  const number = seq !== undefined && { seq };
  const isKnown = thread.messages.some(({ key }) => key === userKey(requestId));
  if (isKnown) return patchUser(thread, requestId, { ...number });
  const message: UserMessage | AppMessage = results
    ? toResultMessage(requestId, results, { at, ...number })
    : {
        kind: "user",
        key: userKey(requestId),
        requestId,
        content,
        files: [...media, ...attachments].map(fileOf),
        at,
        ...number,
        ...nameOf(sender),
        ...(replaces !== undefined && { replaces }),
      };
  const changed = putIn(thread, message);
  return wasReported(thread, seq) ? changed : beginRun(changed, requestId, at, true);
}

/** The server sends the frame again, and has reported before what still runs. */
const wasReported = ({ joinedAt }: Thread, seq: number | undefined): boolean =>
  joinedAt !== undefined && seq !== undefined && seq <= joinedAt;

/** The first frame of a connection, as far as the page uses it. */
interface Greeting {
  readonly seq?: number;
  readonly can?: readonly string[];
  readonly running?: readonly RunningRequest[];
}

/**
 * Applies the first frame of a connection, which lists the answers that run.
 *
 * @param unconfirmed - Ids of the messages that this page will send again.
 */
export function greet(
  thread: Thread,
  { seq, can, running }: Greeting,
  unconfirmed: ReadonlyMap<string, unknown>,
): Thread {
  const { joinedAt: _, ...rest } = thread;
  const canStop = can?.includes("stop") === true;
  if (!running) return { ...rest, canStop };
  const runs = new Map([...thread.runs].filter(([id, run]) => run.endedAt || unconfirmed.has(id)));
  for (const { request_id: id, at } of running) {
    const { startedAt = at, outcome } = thread.runs.get(id) ?? {};
    if (outcome === undefined) runs.set(id, { startedAt, isReported: true });
  }
  return { ...rest, canStop, runs, ...(seq !== undefined && { joinedAt: seq }) };
}

/** After a restart of the stream, its numbers begin again. Known messages precede the new ones. */
export const renumber = (thread: Thread): Thread => ({
  ...thread,
  messages: thread.messages.map((message) =>
    message.seq === undefined ? message : { ...message, seq: message.seq - earlierEpoch },
  ),
});

const earlierEpoch = 2 ** 40;

/** Ends the run of a message that the application or a person has ended before its acceptance. */
export function rejectMessage(
  thread: Thread,
  requestId: string,
  { code, message, at }: { readonly code: string; readonly message: string; readonly at: number },
): Thread {
  const user = userMessageOf(thread, requestId);
  if (!user) return thread;
  const isStopped = code === "stopped";
  const delivery = user.delivery === "delivered" ? "delivered" : isStopped ? "stopped" : "rejected";
  const end = isStopped
    ? { outcome: "stopped", finishReason: "stopped" }
    : {
        ...{ outcome: "failed", finishReason: "error", code },
        ...(writtenCodes.includes(code) && { reason: message }),
      };
  const changed = patchUser(thread, requestId, { delivery });
  return endRun(changed, requestId, { ...end, endedAt: at });
}

function usageOf(usage: unknown): Pick<Run, "usage"> {
  if (!usage) return {};
  const { input_tokens: input, output_tokens: output } = usage as Readonly<Record<string, number>>;
  return {
    usage: { ...(input !== undefined && { input }), ...(output !== undefined && { output }) },
  };
}

/** Adds a question to its message, whose frame precedes it. The text of the open question stays. */
export function receiveQuestion(
  thread: Thread,
  { requestId: _, ...question }: ChatQuestion,
): Thread {
  const message = appMessageOf(thread, appKey(question.id));
  if (!message) return thread;
  const content = message.asked?.content ?? question.content;
  // The server has checked the kind and the schema.
  const asked = { ...message.asked, ...question, content } as AskedQuestion;
  return putIn(thread, { ...message, asked });
}

/** Applies a frame of the server. Frames that show nothing leave the thread as it is. */
export function receive(thread: Thread, frame: ServerFrame, now: number): Thread {
  switch (frame.type) {
    case "message.create":
    case "message.update":
    case "media.create":
      return receiveMessage(thread, frame, now);
    case "message.delete": {
      const key = appKey(frame.payload.message_id);
      return { ...thread, messages: thread.messages.filter((message) => message.key !== key) };
    }
    case "message.user":
      return receiveTurn(thread, frame.payload, frame.seq, frame.timestamp ?? now);
    case "message.ack": {
      const { seq } = frame;
      return seq === undefined ? thread : patchUser(thread, frame.payload.request_id, { seq });
    }
    case "answer.end": {
      const { request_id: id, outcome, finish_reason: finishReason } = frame.payload;
      const { code, message, usage, suggestions } = frame.payload;
      return endRun(thread, id, {
        endedAt: frame.timestamp ?? now,
        outcome,
        finishReason,
        ...(code !== undefined && { code }),
        ...(message !== undefined && { reason: message }),
        ...usageOf(usage),
        ...(suggestions && { suggestions }),
      });
    }
    case "error":
      return noteError(thread, frame.payload);
    case "typing.start":
      return { ...noteTyping(thread), isTyping: true };
    case "typing.stop":
      return { ...thread, isTyping: false };
    default:
      return thread;
  }
}
