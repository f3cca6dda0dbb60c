/** Applies the frames of the server to a conversation. Loaded with the link. @module */
import type {
  ServerFrame,
  ServerMessageFrame,
  UserTurn,
} from "../../../../../lib/pico-wire/index.ts";
import {
  appKey,
  beginRun,
  patchUser,
  putIn,
  setRun,
  userKey,
  type AppMessage,
  type Run,
  type Thread,
  type UserMessage,
} from "./thread.ts";
import { fileOf, kindOf, nameOf } from "./turns.ts";

function endRun(
  thread: Thread,
  requestId: string,
  end: Partial<Run> & { endedAt: number },
): Thread {
  const run = thread.runs.get(requestId) ?? { startedAt: end.endedAt, isReported: true };
  // The server repeats the ends of the last answers after a resume.
  if (run.endedAt !== undefined && run.outcome !== undefined) return thread;
  return setRun(thread, requestId, { ...run, ...end, endedAt: run.endedAt ?? end.endedAt });
}

function contextUseOf(usage: unknown): number | undefined {
  if (typeof usage !== "object" || usage === null) return undefined;
  const { used_tokens: used, total_tokens: total } = usage as Record<string, unknown>;
  if (typeof used !== "number" || typeof total !== "number" || total <= 0) return undefined;
  return Math.min(1, Math.max(0, used / total));
}

let unnamed = 0;

function receiveMessage(thread: Thread, frame: ServerMessageFrame, now: number): Thread {
  const { payload, seq, timestamp: at = now } = frame;
  const { message_id: id, request_id: requestId, model_name: model } = payload;
  const key = appKey(id || `unnamed ${++unnamed}`);
  const known = thread.messages.findLast((message) => message.key === key);
  const before = known && known.kind !== "user" && known.kind !== "note" ? known : undefined;
  const kind = kindOf(payload);
  const isFinal = payload.final === true;
  const number = before?.seq ?? seq;
  const message: AppMessage = {
    kind,
    key,
    at: before?.at ?? at,
    content: payload.content,
    isFinal,
    calls: payload.tool_calls ?? [],
    files: (payload.attachments ?? []).map(fileOf),
    ...(number !== undefined && { seq: number }),
    ...(requestId !== undefined && { requestId }),
    ...(before && isFinal && { endedAt: before.endedAt ?? at }),
    ...(model !== undefined && { model }),
  };
  const contextUse = contextUseOf(payload.context_usage);
  const changed: Thread = {
    ...putIn(thread, message),
    ...(contextUse !== undefined && { contextUse }),
    isTyping: false,
  };
  if (requestId === undefined) return changed;
  const run = changed.runs.get(requestId);
  // The page was opened during the answer, so a complete text may be its end, or one part of it.
  const isGrowing = isFinal ? kind !== "text" && !before : before?.isFinal !== true;
  if (isGrowing && run?.isReported !== true && run?.outcome === undefined)
    return beginRun(changed, requestId, at, false);
  const isOver = kind === "text" && run?.isReported === false && run.endedAt === undefined;
  return isOver ? endRun(changed, requestId, { endedAt: at }) : changed;
}

function receiveTurn(thread: Thread, turn: UserTurn, seq: number | undefined, at: number): Thread {
  const { request_id: requestId, content, media, attachments, sender, replaces } = turn;
  const number = seq !== undefined && { seq };
  const isKnown = thread.messages.some(({ key }) => key === userKey(requestId));
  if (isKnown) return patchUser(thread, requestId, { ...number });
  const message: UserMessage = {
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
  return beginRun(putIn(thread, message), requestId, at, true);
}

function tokensOf(usage: unknown): Pick<Run, "tokens"> {
  if (typeof usage !== "object" || usage === null) return {};
  const { input_tokens: input, output_tokens: output } = usage as Record<string, unknown>;
  const tokens = Number(input ?? 0) + Number(output ?? 0);
  return tokens > 0 ? { tokens } : {};
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
      const { request_id: id, outcome, finish_reason: finishReason, code, usage } = frame.payload;
      return endRun(thread, id, {
        endedAt: frame.timestamp ?? now,
        outcome,
        finishReason,
        ...(code !== undefined && { code }),
        ...tokensOf(usage),
      });
    }
    case "typing.start":
    case "typing.stop":
      return { ...thread, isTyping: frame.type === "typing.start" };
    default:
      return thread;
  }
}
