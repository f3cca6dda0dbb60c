// Handles the frames that a server sends.
import type {
  AnswerEndPayload,
  ErrorPayload,
  ReceivedFrame,
  UserTurnFrame,
} from "../pico-wire/index.ts";
import {
  assemble,
  completeBefore,
  dropPartial,
  readGrowth,
  rememberText,
} from "./message-assembly.ts";
import { reject, confirm } from "./outbox.ts";
import { handleQuestion, handleQuestionAck, rejectAnswer, settleMissing } from "./questions.ts";
import { updateConnection, update, notify, type StepContext } from "./step-context.ts";
import { handleGap, startStream, handleHello, acceptNumbered } from "./stream.ts";
import { failStops, handleStopAck } from "./stops.ts";
import { toUsage } from "./received-values.ts";
import { scheduleRetry } from "./retry.ts";
import type { ChatFrame } from "./types.ts";

/** Records that the server is alive. */
export const markAlive = (context: StepContext): void =>
  updateConnection(context, { heardAt: context.now });

/** Records that the server lacks the extension. */
export function assumePlainServer(context: StepContext): void {
  updateConnection(context, { mode: "plain" });
  update(context, { isPlain: true });
  startStream(context, undefined);
}

/**
 * Handles a frame. An undefined frame could not be read or has an unknown type: it only shows that
 * the server is alive.
 */
export function receiveFrame(context: StepContext, received: ReceivedFrame | undefined): void {
  updateConnection(context, { heardAt: context.now, hasSpoken: true });
  receive(context, received);
  countReplay(context, received);
}

/** The open questions of `hello` count once the replay has settled what it settles. */
function countReplay(context: StepContext, received: ReceivedFrame | undefined): void {
  const open = context.core.connection?.open;
  if (!open) return;
  const isNumbered = received !== undefined && "seq" in received && received.seq !== undefined;
  const replay = open.replay - (isNumbered ? 1 : 0);
  if (replay <= 0) settleMissing(context, open.ids);
  updateConnection(context, { open: replay > 0 ? { ...open, replay } : undefined });
}

function receive(context: StepContext, received: ReceivedFrame | undefined): void {
  const frame = received?.type === "message.append" ? readGrowth(context, received) : received;
  if (frame?.type === "hello") return handleHello(context, frame.payload);
  if (!context.core.connection?.mode) assumePlainServer(context);
  if (received && !frame && context.core.connection?.mode === "extension")
    return scheduleRetry(context, "hole");
  if (!frame || ("seq" in frame && !acceptNumbered(context, frame) && frame.type !== "message.ack"))
    return;
  if (frame.type === "unknown") return;
  rememberText(context, frame);
  notify(context, "onFrame", frame);
  handleFrame(context, frame);
}

function handleFrame(context: StepContext, frame: ChatFrame): void {
  const isExtension = context.core.connection?.mode === "extension";
  switch (frame.type) {
    case "message.create":
    case "message.update":
    case "media.create":
      handleQuestion(context, frame.payload);
      return assemble(context, frame, isExtension);
    case "message.delete":
      dropPartial(context, frame.payload.message_id);
      return notify(context, "onRemoved", { id: frame.payload.message_id });
    case "message.ack":
      return confirm(context, frame.payload.request_id, "delivered");
    case "message.user":
      return handleTurn(context, frame);
    case "answer.end":
      return handleEnd(context, frame.payload);
    case "stop.ack":
      return handleStopAck(context, frame.payload);
    case "question.ack":
      return handleQuestionAck(context, frame.payload);
    case "gap":
      return handleGap(context, frame.payload);
    case "typing.start":
    case "typing.stop":
      notify(context, "onTyping", { on: frame.type === "typing.start" });
      return frame.type === "typing.stop" ? completeBefore(context) : undefined;
    case "error":
      return handleError(context, frame.payload);
    case "hello":
    case "notice":
    case "pong":
  }
}

function handleError(context: StepContext, error: ErrorPayload): void {
  const { code, message, request_id: id } = error;
  if (rejectAnswer(context, error)) return;
  const isOurs = id !== undefined && context.core.outbox.some((entry) => entry.id === id);
  if (isOurs && (code === "busy" || code === "not_stored")) return scheduleRetry(context, code);
  if (isOurs) return reject(context, id, code, message);
  failStops(context, code, (stop) => stop.id === id);
  if (code === "unknown_type") return update(context, { isTypingUnknown: true });
  notify(context, "onError", { code, message });
}

/** Reports a turn of another device. */
function handleTurn(context: StepContext, { payload, timestamp }: UserTurnFrame): void {
  const { message_id: id, request_id: requestId, ...rest } = payload;
  if (!context.core.ownIds.includes(requestId))
    notify(context, "onTurn", { id, requestId, ...rest, at: timestamp ?? context.now });
}

/** Reports the end of an answer. Servers repeat it after a resume. */
function handleEnd(context: StepContext, end: AnswerEndPayload): void {
  const { request_id: requestId, finish_reason: finishReason, usage: given, ...rest } = end;
  const usage = toUsage(given);
  notify(context, "onEnd", { requestId, finishReason, ...rest, ...(usage && { usage }) });
}
