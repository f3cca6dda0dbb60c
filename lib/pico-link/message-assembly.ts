// Assembles the updates of a message into complete messages.
import type { ServerFrame, ServerMessage } from "../pico-wire/index.ts";
import * as bounds from "./limits.ts";
import { toToolCalls } from "./received-values.ts";
import { notify, update, type StepContext } from "./step-context.ts";
import type { ChatMessage, PartialMessage } from "./types.ts";

// A message arrives in parts: a create, then updates with the full text so far. A server of
// extension 1 marks the last part. Other servers do not: their message is complete when they attach
// `context_usage`, send `typing.stop` or begin the next message. It is assumed to be complete after
// `silenceMs` without an update. Such a server sends each thought and tool call as a whole.
// Placeholders are not messages.

type MessageFrame = Extract<
  ServerFrame,
  { type: "message.create" | "message.update" | "media.create" }
>;

const kindOf = ({ kind, thought }: ServerMessage): ChatMessage["kind"] =>
  kind ?? (thought ? "thought" : "text");

/** Deployed servers send seconds. */
const toMillis = (timestamp: number | undefined, now: number): number =>
  timestamp === undefined ? now : timestamp < 1e11 ? timestamp * 1_000 : timestamp;

export function assemble(context: StepContext, frame: MessageFrame, isExtension: boolean): void {
  const { payload, type } = frame;
  if (payload.placeholder) return;
  const isNameless = !payload.message_id;
  const kind = kindOf(payload);
  const message: ChatMessage = {
    id: payload.message_id || frame.id || `${context.now}-${context.random}`,
    kind,
    content: payload.content,
    toolCalls: (payload.tool_calls ?? []).flatMap(toToolCalls),
    ...(payload.model_name && { model: payload.model_name }),
    ...(payload.request_id && { requestId: payload.request_id }),
    attachments: payload.attachments ?? [],
    at: toMillis(frame.timestamp, context.now),
    final:
      payload.final === true ||
      isNameless ||
      // The original server attaches the usage to finished messages only.
      (!isExtension &&
        (type === "media.create" || payload.context_usage !== undefined || kind !== "text")),
  };
  const { id } = message;
  if (kind !== "text") {
    dropPartial(context, id);
    return notify(context, "onUpdate", message);
  }
  const { parts, completedIds } = context.core;
  const isKnown = parts.some(({ message }) => message.id === id);
  if (type !== "message.update")
    update(context, { completedIds: completedIds.filter((name) => name !== id) });
  if (!isExtension && !isKnown && !context.core.completedIds.includes(id)) completeBefore(context);
  dropPartial(context, id);
  if (message.final) return deliverWhole(context, message);
  notify(context, "onUpdate", message);
  const wholeAt = isExtension ? Infinity : context.now + context.silenceMs;
  update(context, {
    parts: [...context.core.parts, { message, wholeAt }].slice(-bounds.maxPartialMessages),
  });
}

function deliverWhole(context: StepContext, message: ChatMessage): void {
  const { completedIds } = context.core;
  const final = { ...message, final: true };
  notify(context, "onUpdate", final);
  if (completedIds.includes(message.id)) return;
  notify(context, "onMessage", final);
  update(context, { completedIds: [...completedIds, message.id].slice(-bounds.maxCompletedIds) });
}

export function dropPartial(context: StepContext, id: string): void {
  update(context, { parts: context.core.parts.filter(({ message }) => message.id !== id) });
}

/**
 * Completes the messages of a server that does not mark their end.
 *
 * @param by - Completes only messages that are due by this time, as assumed ones. Undefined: all of
 * them.
 */
export function completeBefore(context: StepContext, by?: number): void {
  const isDue = ({ wholeAt }: PartialMessage): boolean => wholeAt <= (by ?? Number.MAX_VALUE);
  const { parts } = context.core;
  update(context, { parts: parts.filter((part) => !isDue(part)) });
  for (const { message } of parts.filter(isDue))
    deliverWhole(context, by === undefined ? message : { ...message, assumed: true });
}
