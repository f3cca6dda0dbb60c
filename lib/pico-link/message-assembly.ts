// Assembles messages: added text into the whole text so far, and updates into complete messages.
import type { AppendFrame, ServerFrame, ServerMessage } from "../pico-wire/index.ts";
import * as limits from "./limits.ts";
import { toEntries, toToolCalls } from "./received-values.ts";
import { notify, update, updateConnection, type StepContext } from "./step-context.ts";
import type { ChatFrame, ChatMessage, GrowingText, PartialMessage } from "./types.ts";

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
    ...(kind === "plan" && { entries: (payload.entries ?? []).flatMap(toEntries) }),
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
    parts: [...context.core.parts, { message, wholeAt }].slice(-limits.maxPartialMessages),
  });
}

function deliverWhole(context: StepContext, message: ChatMessage): void {
  const { completedIds } = context.core;
  const final = { ...message, final: true };
  notify(context, "onUpdate", final);
  if (completedIds.includes(message.id)) return;
  notify(context, "onMessage", final);
  update(context, { completedIds: [...completedIds, message.id].slice(-limits.maxCompletedIds) });
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

/** @returns Undefined if the frame adds to a text that this client does not have. */
export function readGrowth(
  { core: { connection } }: StepContext,
  { payload: { message_id: id, at, content, ...rest }, ...frame }: AppendFrame,
): ChatFrame | undefined {
  const text = connection?.texts.find(({ message_id }) => message_id === id);
  if (text?.content.length !== at) return undefined;
  return {
    ...frame,
    type: "message.update",
    payload: { ...text, ...rest, content: text.content + content },
  };
}

/** Keeps the text of a message until it is final. */
export function rememberText(context: StepContext, frame: ChatFrame): void {
  const texts = context.core.connection?.texts ?? [];
  switch (frame.type) {
    case "message.create":
    case "message.update":
    case "media.create":
    case "message.delete": {
      const { message_id: id } = frame.payload;
      const others = texts.filter(({ message_id }) => message_id !== id);
      const text = "content" in frame.payload && growingText(frame.payload);
      if (text) others.push(text);
      if (text || others.length < texts.length)
        updateConnection(context, { texts: others.slice(-limits.maxPartialMessages) });
    }
  }
}

/** @returns Undefined if the message is final. The fields that are left out end with an update. */
function growingText(payload: ServerMessage): GrowingText | undefined {
  const { attachments, tool_calls, placeholder, model_name, context_usage, final, ...text } =
    payload;
  return final ? undefined : text;
}
