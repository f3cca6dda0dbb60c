import type { Awaitable, Clock } from "../../kernel/index.ts";
import type { ChannelPort, Media, Outgoing, PortReceipt, ToolCall } from "../channels/index.ts";
import { encode, limits, type Attachment, type ServerFrame, type ServerMessage } from "../pico-wire/index.ts";
import { picoErrors } from "./errors.ts";
import { refusalFor } from "./failures.ts";
import type { Appended, SessionLog } from "./session-log.ts";

const majors = ["image", "audio", "video"];

function attachment({ type, bytes, url }: Media): Attachment {
  const major = type.split("/")[0] ?? "";
  const address = bytes ? `data:${type};base64,${Buffer.from(bytes).toString("base64")}` : url;
  if (address === undefined || !/^(?:https|data):/i.test(address)) throw picoErrors.unsupported();
  return { type: majors.includes(major) ? major : "file", url: address, content_type: type };
}

const none: readonly Media[] = [];

type Update = Outgoing & { readonly final?: boolean };

const toolCall = ({ id, name, arguments: text }: ToolCall): object =>
  ({ id, type: "function", function: { name, arguments: text } });

function payloadOf(id: string, message: Update, final = message.final): ServerMessage {
  const { content, kind, attachments = none, toolCalls, contextUsage, model } = message;
  const isText = kind === undefined && attachments.length === 0 && !toolCalls && !contextUsage && model === undefined;
  if (isText) return final ? { message_id: id, content, final } : { message_id: id, content };
  return {
    message_id: id,
    content,
    ...(kind && { kind }),
    ...(kind === "thought" && { thought: true }),
    ...(final && { final }),
    ...(toolCalls && { tool_calls: toolCalls.map(toolCall) }),
    ...(contextUsage && { context_usage: { used_tokens: contextUsage.used, total_tokens: contextUsage.total } }),
    ...(model !== undefined && { model_name: model }),
    ...(attachments.length > 0 && { attachments: attachments.map(attachment) }),
  };
}

/** The channel as an application sees it: each message goes to every connection of its session. */
export function createPort(sessions: SessionLog, clock: Clock, sent: () => void): ChannelPort {
  function publish(session: string, frame: ServerFrame, numbered: boolean, message?: string): Awaitable<Appended> {
    const bytes = Buffer.from(encode(frame));
    if (bytes.byteLength > limits.outboundFrame) throw picoErrors.too_large(bytes.byteLength, limits.outboundFrame);
    return sessions.append(session, { frame: bytes, numbered, message });
  }

  function write(session: string, id: string, frame: ServerFrame, numbered = true): Awaitable<PortReceipt> {
    const appended = publish(session, frame, numbered, id);
    const answer = ({ heard, settled = false }: Appended): PortReceipt => {
      sent();
      return { id, status: heard === 0 ? "buffered" : "written", isLast: numbered && settled };
    };
    return appended instanceof Promise ? appended.then(answer) : answer(appended);
  }

  /** To those who listen now; it may be lost. */
  function tell(session: string, frame: ServerFrame): void {
    const whole = { ...frame, session_id: session, timestamp: clock.now() };
    const said = async (): Promise<unknown> => publish(session, whole, false);
    said().catch(() => undefined);
  }

  return {
    name: "pico",
    send(session, id, message) {
      const payload = payloadOf(id, message, message.final ?? true);
      return write(session, id, { type: "message.create", payload, session_id: session, timestamp: clock.now() });
    },
    update(session, id, message) {
      const payload = payloadOf(id, message);
      const frame = { type: "message.update", payload, session_id: session, timestamp: clock.now() } as const;
      return write(session, id, frame, message.final ?? false);
    },
    remove(session, id) {
      const payload = { message_id: id };
      return write(session, id, { type: "message.delete", payload, session_id: session, timestamp: clock.now() });
    },
    typing(session, on) {
      tell(session, { type: on ? "typing.start" : "typing.stop" });
    },
    failed(session, id, error) {
      tell(session, { type: "error", payload: { ...refusalFor(error), request_id: id } });
    },
  };
}
