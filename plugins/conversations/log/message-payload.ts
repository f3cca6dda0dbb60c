// A message of the application as the payload of a frame.
import { isId, type Attachment, type ServerMessage } from "../../../lib/pico-wire/index.ts";
import type {
  ContextUsage,
  GrowingMessage,
  Media,
  OutboundMessage,
  ToolCall,
} from "../messages.ts";

const mediaKinds = ["image", "audio", "video"];

/** @returns Undefined if the file has neither bytes nor an `https:` or `data:` URL. */
export function toAttachment({ type, bytes, url, filename }: Media): Attachment | undefined {
  const major = type.split("/")[0] ?? "";
  const address = bytes ? `data:${type};base64,${Buffer.from(bytes).toString("base64")}` : url;
  if (address === undefined || !/^(?:https|data):/i.test(address)) return undefined;
  return {
    type: mediaKinds.includes(major) ? major : "file",
    url: address,
    ...(filename !== undefined && { filename }),
    ...(type.includes("/") && { content_type: type }),
  };
}

const toolCall = ({ id, name, arguments: text, result, error }: ToolCall): object => ({
  id,
  type: "function",
  function: { name, arguments: text },
  ...(result !== undefined && { result }),
  ...(error !== undefined && { error }),
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
  const { toolCalls, contextUsage, model } = message;
  const request = requestIdOf(message);
  return {
    message_id: id,
    content,
    ...(request !== undefined && { request_id: request }),
    ...(kind && { kind }),
    ...(kind === "thought" && { thought: true }),
    ...(placeholder && { placeholder }),
    ...(final && { final }),
    ...(message.cut !== undefined && { outcome: "stopped", code: message.cut }),
    ...(toolCalls && { tool_calls: toolCalls.map(toolCall) }),
    ...(contextUsage && { context_usage: usage(contextUsage) }),
    ...(model !== undefined && { model_name: model }),
    ...(attachments.length > 0 && { attachments: attachments.map(attachment) }),
  };
}
