// Reads stored turns as the messages that the application sent.
import { defined } from "../../lib/util.ts";
import type { OutboundMessage, PlanEntry } from "../channels/index.ts";
import type { Turn } from "../conversations/index.ts";
import { toToolCall } from "../pico-server/protocol-frames.ts";

/** Returns the message of a turn of the application. */
export function toOutbound(turn: Turn): OutboundMessage {
  const { content, kind, question, inReplyTo, attachments, model, toolCalls, entries } = turn;
  return {
    content,
    ...defined({ kind, question, inReplyTo, attachments, model }),
    ...(toolCalls && { toolCalls: toolCalls.flatMap(toToolCall) }),
    ...(entries && { entries: entries as readonly PlanEntry[] }),
  };
}
