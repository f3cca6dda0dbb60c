import type { Awaitable, Clock } from "../../../kernel/index.ts";
import type {
  ChannelAdapter,
  ContextUsage,
  Media,
  OutboundMessage,
  AdapterReceipt,
  ToolCall,
} from "../../channels/index.ts";
import {
  encode,
  isId,
  limits,
  type Attachment,
  type ServerFrame,
  type ServerMessage,
} from "../../../lib/pico-wire/index.ts";
import { picoErrors } from "../errors.ts";
import { toMessageError } from "./mapping.ts";
import type { AppendResult, SessionLog } from "./session-log.ts";
import { EncodedEntry, encodeTextMessage, type TextMessage } from "../frame-encoding.ts";

const mediaKinds = ["image", "audio", "video"];

function attachment({ type, bytes, url, filename }: Media): Attachment {
  const major = type.split("/")[0] ?? "";
  const address = bytes ? `data:${type};base64,${Buffer.from(bytes).toString("base64")}` : url;
  if (address === undefined || !/^(?:https|data):/i.test(address)) throw picoErrors.unsupported();
  return {
    type: mediaKinds.includes(major) ? major : "file",
    url: address,
    ...(filename !== undefined && { filename }),
    ...(type.includes("/") && { content_type: type }),
  };
}

const noAttachments: readonly Media[] = [];

type OutboundUpdate = OutboundMessage & { readonly final?: boolean };

const toolCall = ({ id, name, arguments: text }: ToolCall): object => ({
  id,
  type: "function",
  function: { name, arguments: text },
});

/** JSON leaves out what is undefined. */
const usage = (given: ContextUsage): object => ({
  used_tokens: given.used,
  total_tokens: given.total,
  history_tokens: given.history,
  compress_at_tokens: given.compressAt,
  summarize_at_tokens: given.summarizeAt,
  used_percent: given.usedPercent,
});

function isPlainText(message: OutboundUpdate): boolean {
  const { kind, placeholder, attachments, toolCalls, contextUsage, model } = message;
  return (
    kind === undefined &&
    placeholder === undefined &&
    toolCalls === undefined &&
    contextUsage === undefined &&
    model === undefined &&
    (attachments === undefined || attachments.length === 0)
  );
}

/** Other channels may call their messages what no client of this one can read. */
const requestIdOf = ({ inReplyTo }: OutboundUpdate): string | undefined =>
  inReplyTo !== undefined && isId(inReplyTo) ? inReplyTo : undefined;

function toPayload(id: string, message: OutboundUpdate, final: boolean | undefined): ServerMessage {
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
    ...(toolCalls && { tool_calls: toolCalls.map(toolCall) }),
    ...(contextUsage && { context_usage: usage(contextUsage) }),
    ...(model !== undefined && { model_name: model }),
    ...(attachments.length > 0 && { attachments: attachments.map(attachment) }),
  };
}

/** The channel as an application sees it: each message goes to every connection of its session. */
export function createChannelAdapter(
  sessions: SessionLog,
  clock: Clock,
  sent: () => void,
): ChannelAdapter {
  type Type = ServerFrame["type"];

  function publish(
    type: Type,
    session: string,
    text: string,
    byteLength: number,
    numbered: boolean,
    message?: string,
  ): Awaitable<AppendResult> {
    if (byteLength > limits.outboundFrame)
      throw picoErrors.too_large(byteLength, limits.outboundFrame);
    return sessions.append(session, new EncodedEntry(type, text, byteLength, numbered, message));
  }

  function write(
    type: Type,
    session: string,
    id: string,
    text: string,
    byteLength: number,
    numbered: boolean,
  ): Awaitable<AdapterReceipt> {
    const appended = publish(type, session, text, byteLength, numbered, id);
    const answer = ({ heard, settled = false }: AppendResult): AdapterReceipt => {
      sent();
      return { id, status: heard === 0 ? "buffered" : "written", isLast: numbered && settled };
    };
    return appended instanceof Promise ? appended.then(answer) : answer(appended);
  }

  function say(
    type: TextMessage["type"],
    session: string,
    id: string,
    message: OutboundUpdate,
    final: boolean | undefined,
    numbered: boolean,
  ): Awaitable<AdapterReceipt> {
    const now = clock.now();
    const { content } = message;
    const request = requestIdOf(message);
    const plain = isPlainText(message)
      ? encodeTextMessage({ type, session, id, content, request, final }, now)
      : undefined;
    if (plain !== undefined) return write(type, session, id, plain, plain.length, numbered);
    const text = encode({
      type,
      payload: toPayload(id, message, final),
      session_id: session,
      timestamp: now,
    });
    return write(type, session, id, text, Buffer.byteLength(text), numbered);
  }

  /** To those who listen now; it may be lost. */
  function tell(session: string, frame: ServerFrame): void {
    const text = encode({ ...frame, session_id: session, timestamp: clock.now() });
    const said = async (): Promise<unknown> =>
      publish(frame.type, session, text, Buffer.byteLength(text), false);
    said().catch(() => undefined);
  }

  return {
    name: "pico",
    send: (session, id, message) =>
      message.placeholder
        ? say("message.create", session, id, message, undefined, false)
        : say("message.create", session, id, message, message.final ?? true, true),
    update: (session, id, message) =>
      say("message.update", session, id, message, message.final, message.final ?? false),
    remove(session, id) {
      const frame = {
        type: "message.delete",
        payload: { message_id: id },
        session_id: session,
      } as const;
      const text = encode({ ...frame, timestamp: clock.now() });
      return write(frame.type, session, id, text, Buffer.byteLength(text), true);
    },
    typing(session, on) {
      tell(session, { type: on ? "typing.start" : "typing.stop" });
    },
    failed(session, id, error) {
      tell(session, { type: "error", payload: { ...toMessageError(error), request_id: id } });
    },
  };
}
