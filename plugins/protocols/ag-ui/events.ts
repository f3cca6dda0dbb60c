// Writes an answer as the events of a run.
import { defined } from "../../../lib/util.ts";
import type {
  InboundMessage,
  Media,
  PlanEntry,
  QuestionSettlement,
  ToolCall,
  Usage,
} from "../../channels/index.ts";
import { toEndRefusal } from "../errors.ts";
import {
  hasResult,
  type RunEnd,
  type RunMessage,
  type RunReader,
  type TextKind,
} from "../follower.ts";
import { toDataUrl, type FileUrl } from "../media.ts";
import { toFacts, type RunQuestion } from "../questions.ts";
import type { EventWriter } from "../sse.ts";
import { toInterrupt } from "./interrupts.ts";
import { resultMessageId, type InputMessage, type RunInput } from "./input.ts";

const protocolVersion = "1.0";

/** A message of the application, as far as this client has it. */
interface SentMessage {
  readonly kind: TextKind;
  text: string;
  isOpen: boolean;
}

function toUsage(model: string | undefined, usage: Usage | undefined): readonly object[] {
  if (!usage) return [];
  const { input, output, reasoning, cached } = usage;
  const isTotalKnown = input !== undefined && output !== undefined;
  return [
    defined({
      model,
      inputTokens: input,
      outputTokens: output,
      totalTokens: isTotalKnown ? input + output : undefined,
      reasoningTokens: reasoning,
      cachedInputTokens: cached,
    }),
  ];
}

const toToolMessage = ({ id, name, arguments: text }: ToolCall): InputMessage => ({
  id,
  role: "assistant",
  toolCalls: [{ id, type: "function", function: { name, arguments: text } }],
});

/** The message with the result of a call. */
const toResultMessage = ({ id, result = "", error }: ToolCall) => ({
  id: resultMessageId(id),
  role: "tool",
  toolCallId: id,
  content: error ?? result,
});

/** Question -> its settlement; undefined if there is no such question. */
export type Settled = ReadonlyMap<string, QuestionSettlement | undefined>;

interface RunOptions {
  readonly fileUrl: FileUrl;
  /** Messages that the client may have in part; they begin with a snapshot. */
  readonly present?: readonly RunMessage[] | undefined;
  /** The answers of the run, which are reported first. */
  readonly settled?: Settled;
}

export class RunEvents implements RunReader {
  private readonly fileUrl: FileUrl;
  private readonly events: EventWriter;
  private readonly input: RunInput;
  private readonly sent = new Map<string, SentMessage>();
  /** Tool calls and messages of other clients, for snapshots. */
  private readonly others: InputMessage[] = [];

  private readonly plans = new Map<string, readonly PlanEntry[]>();

  /** Questions whose settlement the client has. */
  private readonly settledIds = new Set<string>();
  /** Messages of the answer that the client may have sent along. */
  private readonly answered = new Set<string>();

  constructor(events: EventWriter, input: RunInput, options: RunOptions) {
    const { fileUrl, present, settled = [] } = options;
    this.events = events;
    this.fileUrl = fileUrl;
    this.input = input;
    const { threadId, runId } = input;
    this.event({ type: "RUN_STARTED", threadId, runId, protocolVersion });
    if (present) this.present(present);
    for (const [id, settlement] of settled) this.noteSettled(id, settlement);
  }

  private present(messages: readonly RunMessage[]): void {
    for (const { id, kind, text, calls, plan, asked, isRemoved } of messages) {
      this.answered.add(id);
      if (isRemoved || asked) continue;
      if (plan) this.plans.set(id, plan);
      if (text !== "") this.sent.set(id, { kind, text, isOpen: false });
      for (const call of calls) this.note(call);
    }
    this.snapshot();
  }

  isWritable(): boolean {
    return this.events.isWritable();
  }

  grew(messageId: string, kind: TextKind, more: string): void {
    const message = this.open(messageId, kind);
    message.text += more;
    const type = kind === "thought" ? "REASONING_MESSAGE_CONTENT" : "TEXT_MESSAGE_CONTENT";
    this.event({ type, messageId, delta: more });
  }

  /** The message grows on after the snapshot. */
  replaced(id: string, kind: TextKind, whole: string): void {
    this.closed(id);
    this.sent.set(id, { kind, text: whole, isOpen: false });
    this.snapshot();
  }

  closed(messageId: string): void {
    const message = this.sent.get(messageId);
    if (!message?.isOpen) return;
    message.isOpen = false;
    if (message.kind === "text") return this.event({ type: "TEXT_MESSAGE_END", messageId });
    this.event({ type: "REASONING_MESSAGE_END", messageId });
    this.event({ type: "REASONING_END", messageId });
  }

  attachments(messageId: string, media: readonly Media[]): void {
    for (const each of media) {
      const { type, filename } = each;
      const name = filename !== undefined && { filename };
      const value = { messageId, type, url: toDataUrl(each, this.fileUrl), ...name };
      this.event({ type: "CUSTOM", name: "doorward.attachment", value });
    }
  }

  toolCall(call: ToolCall): void {
    const { id: toolCallId, name: toolCallName, arguments: delta } = call;
    this.others.push(toToolMessage(call));
    this.event({ type: "TOOL_CALL_START", toolCallId, toolCallName });
    if (delta !== "") this.event({ type: "TOOL_CALL_ARGS", toolCallId, delta });
    this.event({ type: "TOOL_CALL_END", toolCallId });
  }

  toolResult(call: ToolCall): void {
    const { id: messageId, role, toolCallId, content } = toResultMessage(call);
    this.others.push({ id: messageId, role, toolCallId, content });
    this.event({ type: "TOOL_CALL_RESULT", messageId, toolCallId, content, role });
  }

  plan(id: string, entries: readonly PlanEntry[]): void {
    this.plans.set(id, entries);
    this.activity(id, entries);
  }

  private activity(messageId: string, entries: readonly PlanEntry[]): void {
    const about = { messageId, activityType: "PLAN", replace: true };
    this.event({ type: "ACTIVITY_SNAPSHOT", ...about, content: { entries } });
  }

  /** The interrupt at the end of the run asks. */
  asked(): void {}

  settled({ id, question: { settled } }: RunQuestion): void {
    if (settled) this.noteSettled(id, settled);
  }

  /** Says how a question was settled. */
  private noteSettled(id: string, settled: QuestionSettlement | undefined): void {
    if (this.settledIds.has(id)) return;
    this.settledIds.add(id);
    const value = { id, settled: settled ? toFacts(settled) : null };
    this.event({ type: "CUSTOM", name: "doorward.question", value });
  }

  waits(questions: readonly RunQuestion[], usage: object = {}): void {
    for (const id of this.sent.keys()) this.closed(id);
    this.snapshot();
    const { threadId, runId } = this.input;
    const outcome = { type: "interrupt", interrupts: questions.map(toInterrupt) };
    this.event({ type: "RUN_FINISHED", threadId, runId, outcome, ...usage });
    this.events.end();
  }

  turn({ id: messageId, content, sender }: InboundMessage): void {
    const name = sender?.name === undefined ? {} : { name: sender.name };
    this.others.push({ id: messageId, role: "user", content, ...name });
    this.event({ type: "TEXT_MESSAGE_START", messageId, role: "user", ...name });
    if (content !== "") this.event({ type: "TEXT_MESSAGE_CONTENT", messageId, delta: content });
    this.event({ type: "TEXT_MESSAGE_END", messageId });
  }

  over(end: RunEnd): void {
    for (const id of this.sent.keys()) this.closed(id);
    const { threadId, runId } = this.input;
    if (end.outcome === "failed") {
      const { message, code } = toEndRefusal(end);
      this.event({ type: "RUN_ERROR", message, code });
    } else {
      // The client runs these tools, and sends the results with its next run.
      for (const call of end.calls ?? []) this.toolCall(call);
      const type = end.outcome === "stopped" ? "cancelled" : "success";
      const usage = toUsage(end.model, end.usage);
      const known = usage.length > 0 && { usage };
      if (end.asks) return this.waits(end.asks, known || {});
      this.event({ type: "RUN_FINISHED", threadId, runId, outcome: { type }, ...known });
    }
    this.events.end();
  }

  /** A call that the client may have. A later message may only add its result. */
  private note(call: ToolCall): void {
    if (!this.others.some(({ id }) => id === call.id)) this.others.push(toToolMessage(call));
    if (hasResult(call)) this.others.push(toResultMessage(call));
  }

  private open(messageId: string, kind: TextKind): SentMessage {
    const message = this.sent.get(messageId) ?? { kind, text: "", isOpen: false };
    this.sent.set(messageId, message);
    if (message.isOpen) return message;
    message.isOpen = true;
    if (kind === "text") this.event({ type: "TEXT_MESSAGE_START", messageId, role: "assistant" });
    else {
      this.event({ type: "REASONING_START", messageId });
      this.event({ type: "REASONING_MESSAGE_START", messageId, role: "reasoning" });
    }
    return message;
  }

  /** Sends the input and the answer so far. Messages in progress continue after it. */
  private snapshot(): void {
    const open = [...this.sent].filter(([, { isOpen }]) => isOpen).map(([id]) => id);
    for (const id of open) this.closed(id);
    const own = [...this.sent].map(([id, { kind, text }]) => ({
      id,
      role: kind === "thought" ? "reasoning" : "assistant",
      content: text,
    }));
    const added = [...this.others, ...own];
    const known = new Set([...this.answered, ...added.map(({ id }) => id)]);
    const before = this.input.messages.filter(({ id }) => !known.has(id));
    this.event({ type: "MESSAGES_SNAPSHOT", messages: [...before, ...added] });
    for (const [id, entries] of this.plans) this.activity(id, entries);
  }

  private event(event: object): void {
    this.events.event(JSON.stringify(event));
  }
}
