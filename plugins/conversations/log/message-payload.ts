// A message of the application as the payload of a frame.
import {
  askedText,
  isId,
  type Attachment,
  type ServerMessage,
} from "../../../lib/pico-wire/index.ts";
import type {
  ContextUsage,
  GrowingMessage,
  Media,
  OutboundMessage,
  ToolCall,
} from "../messages.ts";
import { toWireQuestion } from "../question-frames.ts";

const mediaKinds = ["image", "audio", "video"];

const pathOf = (id: string): string => `/pico/media/${id}`;

/** @returns Undefined if clients cannot open the address. */
function addressOf(
  { type, bytes, url, id }: Media,
  fileUrl: (id: string) => string,
): string | undefined {
  if (bytes) return `data:${type};base64,${Buffer.from(bytes).toString("base64")}`;
  if (id !== undefined) return fileUrl(id);
  return url !== undefined && /^(?:https|data):/i.test(url) ? url : undefined;
}

/**
 * @param fileUrl - Returns the path of a stored file. @defaultValue the path without a base path
 * @returns Undefined unless the file is stored, or has bytes or an `https:` or `data:` URL.
 */
export function toAttachment(media: Media, fileUrl = pathOf): Attachment | undefined {
  const { type, filename, size } = media;
  const major = type.split("/")[0] ?? "";
  const address = addressOf(media, fileUrl);
  if (address === undefined) return undefined;
  return {
    type: mediaKinds.includes(major) ? major : "file",
    url: address,
    ...(filename !== undefined && { filename }),
    ...(type.includes("/") && { content_type: type }),
    ...(size !== undefined && { size }),
  };
}

/** `JSON.stringify` drops undefined values. */
const toolCall = ({ id, name, arguments: text, for: runner, ...rest }: ToolCall): object => ({
  id,
  type: "function",
  function: { name, arguments: text },
  for: runner,
  result: rest.result,
  error: rest.error,
  title: rest.title,
  kind: rest.kind,
  state: rest.state,
  details: rest.details,
  locations: rest.locations,
});

/** `JSON.stringify` drops undefined values. */
const usage = (given: ContextUsage): object => ({
  used_tokens: given.used,
  total_tokens: given.total,
  history_tokens: given.history,
  compress_at_tokens: given.compressAt,
  summarize_at_tokens: given.summarizeAt,
  used_percent: given.usedPercent,
});

const noAttachments: readonly Media[] = [];

/** Message ids of other channels may be invalid in a frame. */
export const requestIdOf = ({ inReplyTo }: OutboundMessage): string | undefined =>
  inReplyTo !== undefined && isId(inReplyTo) ? inReplyTo : undefined;

/** Creates the payload of `message.create` and `message.update`. */
export function toPayload(
  id: string,
  message: GrowingMessage,
  final: boolean | undefined,
  attachment: (media: Media) => Attachment,
): ServerMessage {
  const { content, kind, placeholder, attachments = noAttachments } = message;
  const { toolCalls, contextUsage, model, question, entries } = message;
  const request = requestIdOf(message);
  return {
    message_id: id,
    content: question?.state === "open" ? askedText(content) : content,
    ...(request !== undefined && { request_id: request }),
    ...(kind && { kind }),
    ...(kind === "thought" && { thought: true }),
    ...(placeholder && { placeholder }),
    ...(final && { final }),
    ...(message.cut !== undefined && { outcome: "stopped", code: message.cut }),
    ...(toolCalls && { tool_calls: toolCalls.map(toolCall) }),
    ...(entries && { entries }),
    ...(contextUsage && { context_usage: usage(contextUsage) }),
    ...(model !== undefined && { model_name: model }),
    ...(attachments.length > 0 && { attachments: attachments.map(attachment) }),
    ...(question && { question: toWireQuestion(question) }),
  };
}
