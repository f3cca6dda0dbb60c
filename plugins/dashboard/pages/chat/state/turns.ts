/** Reads messages of the server. Loaded with the link and the history. @module */
import type { ServerMessage } from "../../../../../lib/pico-wire/index.ts";
import type { RequestView, Turn } from "../../../shared/conversation-views.ts";
import { fileOf } from "../files/stored-file.ts";
import {
  appKey,
  appMessageOf,
  putIn,
  setRun,
  userKey,
  type AppMessage,
  type Message,
  type Run,
  type Thread,
  type UserMessage,
} from "./thread.ts";

export function kindOf(kind: ServerMessage["kind"]): AppMessage["kind"] {
  if (kind === "thought" || kind === "plan" || kind === "notice") return kind;
  return kind === "tool_calls" ? "tools" : "text";
}

/** The owner is "You"; other people have their names. */
export const nameOf = (
  sender: { id: string; name?: string } | undefined,
): Pick<UserMessage, "sender"> =>
  sender === undefined || sender.id === "owner" ? {} : { sender: sender.name ?? sender.id };

/** The results of tools that a client ran, as the first step of the answer to them. */
export function toResultMessage(
  requestId: string,
  results: readonly unknown[],
  place: Pick<AppMessage, "seq" | "at">,
): AppMessage {
  const calls = results.map((result) => {
    const { id, name = id, content, isError, is_error } = (result ?? {}) as Record<string, unknown>;
    return { name, ...(isError || is_error ? { error: content } : { result: content }) };
  });
  const key = userKey(requestId);
  return { kind: "tools", key, requestId, ...place, content: "", isFinal: true, calls, files: [] };
}

function fromTurn(turn: Turn): Message {
  const { id, seq, at, content, model, attachments = [] } = turn;
  const files = attachments.map(fileOf);
  if (turn.role === "tool")
    return toResultMessage(turn.requestId ?? id, turn.toolResults ?? [], { seq, at });
  if (turn.role === "user") {
    const requestId = turn.requestId ?? id;
    const common = { key: userKey(requestId), requestId, seq, at, content, files };
    const replaced = turn.replaces !== undefined && { replaces: turn.replaces };
    return { kind: "user", ...common, ...nameOf(turn.sender), ...replaced };
  }
  return {
    kind: kindOf(turn.kind),
    key: appKey(id),
    seq,
    at,
    content,
    isFinal: turn.complete !== false,
    calls: turn.toolCalls ?? [],
    ...(turn.entries && { entries: turn.entries }),
    files,
    ...(turn.inReplyTo !== undefined && { requestId: turn.inReplyTo }),
    ...(model !== undefined && { model }),
    ...(turn.outcome === "stopped" && { isCut: true }),
    ...(turn.question && {
      asked: {
        ...turn.question,
        ...{ id, content },
        ...(turn.unfinished && { unfinished: turn.unfinished }),
      },
    }),
  };
}

export const hasTurn = ({ messages }: Thread, turn: Turn): boolean =>
  messages.some(({ key }) => key === fromTurn(turn).key);

/**
 * Adds turns of the history. Newer data of this page stays.
 *
 * @param isOnlySource - The page has no other data. @defaultValue `false`
 */
export function addTurns(thread: Thread, turns: readonly Turn[], isOnlySource = false): Thread {
  let changed = thread;
  for (const turn of turns) {
    const message = fromTurn(turn);
    const known = changed.messages.find(({ key }) => key === message.key);
    const isOpen = known && "isFinal" in known && !known.isFinal;
    // The history lags behind an answer that grows. After a kill, only the history has its text.
    const isMissed =
      isOpen && (turn.complete !== false || turn.content.length > known.content.length);
    // The channel does not say how an answer of an earlier process ended.
    const isCut = turn.outcome === "stopped" && known && "isFinal" in known;
    const kept = known && {
      ...known,
      seq: turn.seq,
      ...(isCut && { isCut }),
      ...askedOf(known, turn),
    };
    changed = putIn(changed, kept && !isMissed && !isOnlySource ? kept : message);
    changed = endOf(changed, turn);
  }
  return changed;
}

/** The channel does not say what became of an answer. */
function askedOf(known: Message, { question, unfinished }: Turn): Pick<AppMessage, "asked"> {
  if (!("asked" in known) || !known.asked || question?.state !== "settled") return {};
  const { unfinished: _, ...asked } = known.asked;
  return { asked: { ...asked, ...(unfinished && { unfinished }) } };
}

/** A run whose end alone the server has repeated has no duration, so this page has not seen it. */
const isSeen = (run: Run | undefined): boolean =>
  run?.outcome !== undefined && run.startedAt !== run.endedAt;

/** Adds how the answer to a turn ended, unless this page has seen that. */
function endOf(thread: Thread, turn: Turn): Thread {
  const { requestId, outcome, code, message, usage, suggestions, at, answerMs = 0 } = turn;
  if (requestId === undefined || outcome === undefined) return thread;
  const known = thread.runs.get(requestId);
  if (isSeen(known)) return thread;
  return setRun(thread, requestId, {
    ...known,
    ...{ startedAt: at, endedAt: at + answerMs, isReported: true, outcome },
    ...(code !== undefined && { code }),
    ...(message !== undefined && { reason: message }),
    ...(usage && { usage }),
    ...(suggestions && { suggestions }),
  });
}

/** The work on a message, as the server recorded it. */
const toRun = ({ at, outcome, code, usage, endedMs = 0 }: RequestView): Run => ({
  startedAt: at,
  endedAt: at + endedMs,
  isReported: true,
  ...(outcome !== undefined && { outcome }),
  ...(code !== undefined && { code }),
  ...(usage && { usage }),
});

/** A part that has grown, with its times. The history has only the time of its beginning. */
function timePart(thread: Thread, at: number, part: RequestView["parts"][number]): Thread {
  const message = appMessageOf(thread, appKey(part.id));
  if (!message?.isFinal || message.endedAt !== undefined || part.updates === 0) return thread;
  return putIn(thread, { ...message, at: at + part.fromMs, endedAt: at + part.toMs });
}

/** Adds how the latest answers went. Figures that this page has measured itself stay. */
export function addTimes(thread: Thread, requests: readonly RequestView[]): Thread {
  let changed = thread;
  for (const request of requests) {
    const { id, at, endedMs, parts } = request;
    const run = changed.runs.get(id);
    const isKnown = changed.messages.some(({ key }) => key === userKey(id));
    if (!isKnown || endedMs === undefined) continue;
    changed = parts.reduce((sum, part) => timePart(sum, at, part), changed);
    if (!isSeen(run)) changed = setRun(changed, id, { ...run, ...toRun(request) });
  }
  return changed;
}
