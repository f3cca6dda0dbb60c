// Turns the messages of a conversation into updates of the Agent Client Protocol. A message has its
// whole text each time; an editor receives what it has grown by.
import type { ChatMessage, ChatTurn, HistoryTurn } from "../../lib/pico-link/index.ts";
import { BoundedMap } from "../../lib/util.ts";
import { toBlock, type OutgoingBlock } from "./content.ts";
import { toCall, toPlan, type SentCall } from "./tool-calls.ts";

type Shown = Pick<ChatMessage, "id" | "kind" | "content" | "toolCalls" | "attachments"> & {
  readonly entries?: ChatMessage["entries"];
  readonly requestId?: string | undefined;
  readonly final: boolean;
};

/** Messages and calls that are remembered: a server may send them again after a reconnect. */
const maxRemembered = 1_024;

type Chunk = "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk";

export class Updates {
  private readonly send: (update: object) => void;
  private readonly texts = new BoundedMap<string, string>(maxRemembered);
  private readonly files = new BoundedMap<string, true>(maxRemembered);
  private readonly calls = new BoundedMap<string, SentCall>(maxRemembered);
  private readonly plans = new BoundedMap<string, string>(maxRemembered);
  /** The last chunk. Editors join chunks of one kind, so a new message begins a paragraph. */
  private last: { readonly kind: Chunk; readonly id: string } | undefined;

  constructor(send: (update: object) => void) {
    this.send = send;
  }

  /** Shows the present state of a message of the application. */
  message(message: Shown): void {
    const { id, kind, content, requestId, entries = [] } = message;
    for (const call of message.toolCalls) this.call(toCall(call, requestId));
    if (kind === "tool_calls") return;
    if (kind === "plan" && entries.length > 0) return this.plan(id, toPlan(entries));
    this.text(kind === "thought" ? "agent_thought_chunk" : "agent_message_chunk", id, content);
    if (message.final) this.attachments("agent_message_chunk", id, message.attachments);
  }

  /** Shows a message that a person sent from another device. */
  turn({ id, content, media, attachments }: Pick<ChatTurn, "id" | "content"> & Partial<ChatTurn>) {
    this.text("user_message_chunk", id, content);
    const files = [...(media ?? []), ...(attachments ?? [])];
    this.attachments(
      "user_message_chunk",
      id,
      files.flatMap((file) => (file.url === undefined ? [] : [{ ...file, url: file.url }])),
    );
  }

  /** Shows a turn of the history. */
  past(turn: HistoryTurn): void {
    const { role, toolResults = [], attachments = [], inReplyTo: requestId } = turn;
    if (role === "user") return this.turn({ ...turn, media: [], attachments });
    if (role === "assistant") {
      this.message({ ...turn, requestId, attachments, final: true });
      return;
    }
    for (const { id, content, isError } of toolResults) this.result(id, content, isError === true);
  }

  /** Says something that is not the application's. */
  say(text: string): void {
    this.last = undefined;
    this.chunk("agent_message_chunk", { type: "text", text: `\n\n${text}` });
  }

  /** The call with this id, as the editor knows it. */
  known(id: string): SentCall | undefined {
    return this.calls.get(id);
  }

  call(call: SentCall): void {
    const before = this.calls.get(call.toolCallId);
    if (before && JSON.stringify(before) === JSON.stringify(call)) return;
    this.calls.renew(call.toolCallId, call);
    this.last = undefined;
    this.send({ sessionUpdate: before ? "tool_call_update" : "tool_call", ...call });
  }

  /** Ends the open calls of an answer that has ended. */
  end(requestId: string, isCompleted: boolean): void {
    for (const call of [...this.calls.values()]) {
      const isOpen = call.status === "in_progress" || call.status === "pending";
      if (!isOpen || !call.toolCallId.startsWith(`${requestId}:`)) continue;
      this.call({ ...call, status: isCompleted ? "completed" : "failed" });
    }
  }

  /** The result of a call that a client has run. */
  private result(id: string, text: string, isFailed: boolean): void {
    const call = [...this.calls.values()].findLast((each) => each.toolCallId.endsWith(`:${id}`));
    if (!call) return;
    this.call({ ...call, status: isFailed ? "failed" : "completed", rawOutput: text });
  }

  private plan(id: string, plan: object): void {
    const text = JSON.stringify(plan);
    if (this.plans.get(id) === text) return;
    this.plans.renew(id, text);
    this.last = undefined;
    this.send(plan);
  }

  private text(kind: Chunk, id: string, content: string): void {
    const before = this.texts.get(id) ?? "";
    if (content === before) return;
    this.texts.renew(id, content);
    const isGrown = content.startsWith(before);
    const grown = isGrown ? content.slice(before.length) : content;
    const isNew = this.last?.kind === kind && this.last.id !== id;
    // An editor cannot remove a text.
    const gap = isNew || !isGrown ? "\n\n" : "";
    this.last = { kind, id };
    this.chunk(kind, { type: "text", text: `${gap}${grown}` }, id);
  }

  private attachments(kind: Chunk, id: string, attachments: ChatMessage["attachments"]): void {
    if (attachments.length === 0 || this.files.has(id)) return;
    this.files.set(id, true);
    for (const attachment of attachments) this.chunk(kind, toBlock(attachment), id);
  }

  private chunk(kind: Chunk, content: OutgoingBlock, messageId?: string): void {
    this.send({ sessionUpdate: kind, content, ...(messageId !== undefined && { messageId }) });
  }
}
