// One turn: the reports of the agent between a prompt and its end become the answer.
import type { Clock, Log, Release } from "../../kernel/index.ts";
import type { PromptResult, SessionUpdate, ToolCallUpdate } from "../../lib/acp-wire/index.ts";
import { BoundedMap, defined } from "../../lib/util.ts";
import type {
  Channels,
  ContextUsage,
  FinishReason,
  Message,
  OutboundMessage,
  PlanEntry,
  ReplyStream,
} from "../channels/index.ts";
import { SendChain, type Backlog } from "./flow.ts";
import { maxRemembered, type AgentSession } from "./sessions.ts";
import { changes, lengthOf, oneLine, shorten, textOf, titleOf, toPlan, toStep } from "./steps.ts";

/** Characters that the ended steps of a turn keep for a later update. */
const maxHeldLength = 8 * 1024 * 1024;
/** Time between two updates of one step: agents report each line of a command. */
const stepIntervalMs = 100;

const finishReasons: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  max_tokens: "length",
  max_turn_requests: "length",
  refusal: "content_filter",
  cancelled: "stopped",
};

interface TurnOptions {
  readonly message: Message;
  readonly session: AgentSession;
  readonly channels: Channels;
  readonly backlog: Backlog;
  readonly log: Log;
  readonly clock: Clock;
  readonly after: (ms: number, run: () => void) => Release;
  /** A step that changes something ended without a question. */
  readonly ranUnasked: () => void;
}

/** A growing text; another kind, or another message of the agent, begins the next one. */
interface Part {
  readonly kind: "thought" | undefined;
  readonly messageId: string | undefined;
  readonly stream: ReplyStream;
}

interface Step {
  call: ToolCallUpdate;
  /** Characters of its contents. */
  length: number;
  /** True if its contents were dropped after the end. It takes no more updates. */
  isDropped: boolean;
  /** Id of the message that shows it. */
  id: string | undefined;
  wasAsked: boolean;
  isCounted: boolean;
  /** A send with the latest state waits. */
  isScheduled: boolean;
  lastSentAt: number;
  /** Ends the time before that send. */
  timer: Release | undefined;
}

interface ShownPlan {
  entries: readonly PlanEntry[];
  id: string | undefined;
  isScheduled: boolean;
}

export class Turn {
  readonly session: AgentSession;
  readonly message: Message;
  private readonly options: TurnOptions;
  private readonly chain: SendChain;
  private readonly steps = new Map<string, Step>();
  private readonly messageIds = new BoundedMap<string, true>(maxRemembered);
  /** Characters of the contents of all steps. */
  private heldLength = 0;
  private part: Part | undefined;
  private plan: ShownPlan | undefined;
  private contextUsage: ContextUsage | undefined;
  private isCancelled = false;
  private isOver = false;
  private closing: Promise<void> | undefined;

  constructor(options: TurnOptions) {
    this.options = options;
    this.session = options.session;
    this.message = options.message;
    this.chain = new SendChain(options.backlog, options.log);
  }

  /** Asks the agent to end the turn, before it learns how its questions were answered. */
  cancel(): void {
    if (this.isCancelled || this.isOver) return;
    this.isCancelled = true;
    const { connection, id } = this.session;
    connection.notify("session/cancel", { sessionId: id });
  }

  /** The agent has ended the turn: later updates belong to no turn. */
  end(): void {
    this.isOver = true;
  }

  update(update: SessionUpdate): void {
    if (this.isOver) return;
    switch (update.kind) {
      case "agent_message_chunk":
        return this.addContent(update.value);
      case "agent_thought_chunk": {
        const { content, messageId } = update.value;
        return this.addText("thought", messageId, textOf(content));
      }
      case "tool_call":
        return void this.updateStep(update.value);
      case "tool_call_update": {
        const { toolCallId } = update.value;
        const isLate =
          !this.steps.has(toolCallId) && this.session.earlier.has(`call ${toolCallId}`);
        return isLate ? undefined : void this.updateStep(update.value);
      }
      case "plan":
        return this.showPlan(toPlan(update.value.entries));
      case "usage_update": {
        const { used, size } = update.value;
        this.contextUsage = { used: Math.max(0, used), total: Math.max(0, size) };
        return;
      }
      case "session_info_update":
        return this.setTitle(update.value.title);
      default:
    }
  }

  /**
   * Shows the call that the agent asks about. Resolves when people can see it.
   *
   * @returns The whole call.
   */
  async asks(update: ToolCallUpdate): Promise<ToolCallUpdate> {
    const step = this.updateStep(update);
    step.wasAsked = true;
    this.scheduleStep(step);
    await this.chain.add(() => this.closePart());
    return { ...step.call, ...shorten(update) };
  }

  /** Sends texts before a question. */
  async settleTexts(): Promise<void> {
    await this.chain.add(() => this.closePart());
  }

  /** Shows a sentence that is not of the agent. */
  notice(content: string): void {
    void this.chain.add(() => this.message.reply({ kind: "notice", content }));
  }

  /**
   * Ends the answer with the agent's result, after `close`.
   *
   * @throws The error for the sender, if a part of the answer was lost.
   */
  finish({ stopReason, usage }: PromptResult): void {
    const { inputTokens: input, outputTokens: output, cachedReadTokens: cached } = usage ?? {};
    this.message.end({
      finishReason: finishReasons[stopReason] ?? "stop",
      ...(usage && { usage: defined({ input, output, cached }) }),
    });
    if (this.chain.failure) throw this.chain.failure;
  }

  /** Closes what is still open. The agent says nothing more about its steps. */
  close(error: string): Promise<void> {
    this.isOver = true;
    this.closing ??= this.closeAll(error);
    return this.closing;
  }

  private async closeAll(error: string): Promise<void> {
    for (const step of this.steps.values()) {
      const { status } = step.call;
      const isOpen = status !== "completed" && status !== "failed";
      if (isOpen) step.call = { ...step.call, status: "failed" };
      if (isOpen || step.timer) this.scheduleStep(step, error);
    }
    const { plan } = this;
    if (plan) void this.chain.add(() => this.sendPlan(plan, true));
    await this.chain.add(() => this.closePart(this.contextUsage));
    await this.chain.drained();
    const { earlier } = this.session;
    for (const id of this.messageIds.keys()) earlier.set(`message ${id}`, true);
    for (const id of this.steps.keys()) earlier.set(`call ${id}`, true);
  }

  private addContent({
    content,
    messageId,
  }: Extract<SessionUpdate, { kind: "agent_message_chunk" }>["value"]): void {
    if (content.type !== "image") return this.addText(undefined, messageId, textOf(content));
    const image = { type: content.mimeType, bytes: Buffer.from(content.data, "base64") };
    void this.chain.add(async () => {
      await this.closePart();
      await this.message.reply({ content: "", attachments: [image] });
    }, content.data.length);
  }

  private addText(kind: Part["kind"], messageId: string | undefined, text: string): void {
    if (messageId !== undefined) {
      if (this.session.earlier.has(`message ${messageId}`)) return; // late: of an earlier turn
      this.messageIds.set(messageId, true);
    }
    if (text === "") return;
    void this.chain.add(async () => {
      const isSame = this.part?.kind === kind && this.part?.messageId === messageId;
      if (!isSame) await this.closePart();
      this.part ??= { kind, messageId, stream: this.message.stream(kind && { kind }) };
      const { stream } = this.part;
      if (!stream.write(text)) await stream.drained();
    }, text.length);
  }

  private async closePart(contextUsage?: ContextUsage): Promise<void> {
    const { part } = this;
    this.part = undefined;
    await part?.stream.end(contextUsage && { contextUsage });
  }

  private updateStep(update: ToolCallUpdate): Step {
    const { clock, after, ranUnasked } = this.options;
    const known = this.steps.get(update.toolCallId);
    if (known?.isDropped) return known;
    const call = { ...known?.call, ...shorten(update) };
    const step = known ?? {
      call,
      length: 0,
      isDropped: false,
      id: undefined,
      wasAsked: false,
      isCounted: false,
      isScheduled: false,
      lastSentAt: -Infinity,
      timer: undefined,
    };
    step.call = call;
    this.steps.set(call.toolCallId, step);
    this.hold(step);
    if (call.status === "completed" && !step.wasAsked && !step.isCounted && changes(call.kind)) {
      step.isCounted = true;
      ranUnasked();
    }
    const isRunning = call.status === undefined || call.status === "in_progress";
    const wait = step.lastSentAt + stepIntervalMs - clock.monotonic();
    if (wait <= 0 || !isRunning) this.scheduleStep(step);
    else if (!step.isScheduled) {
      step.isScheduled = true;
      step.timer = after(wait, () => this.scheduleStep(step));
    }
    return step;
  }

  /** Counts what the step keeps, and drops the contents of the ones that were shown and ended. */
  private hold(step: Step): void {
    const length = lengthOf(step.call);
    this.heldLength += length - step.length;
    step.length = length;
    if (this.heldLength <= maxHeldLength) return;
    for (const each of this.steps.values()) {
      const { status } = each.call;
      const hasEnded = status === "completed" || status === "failed";
      const isSent = each.id !== undefined && !each.isScheduled;
      if (each === step || each.isDropped || !hasEnded || !isSent) continue;
      each.call = { ...each.call, content: [], rawInput: undefined, rawOutput: undefined };
      this.heldLength -= each.length;
      each.length = 0;
      each.isDropped = true;
      if (this.heldLength <= maxHeldLength / 2) return;
    }
  }

  /** Sends the latest state after all earlier sends. */
  private scheduleStep(step: Step, error?: string): void {
    if (step.isScheduled && !step.timer) return;
    step.timer?.();
    step.timer = undefined;
    step.isScheduled = true;
    void this.chain.add(() => this.sendStep(step, error), step.length);
  }

  private async sendStep(step: Step, error?: string): Promise<void> {
    step.isScheduled = false;
    step.lastSentAt = this.options.clock.monotonic();
    await this.closePart();
    const { status } = step.call;
    await this.sendMessage(step, {
      kind: "tool_calls",
      content: titleOf(step.call),
      toolCalls: [toStep(step.call, error)],
      final: status === "completed" || status === "failed",
    });
  }

  private showPlan(entries: readonly PlanEntry[]): void {
    if (!this.plan) {
      if (entries.length === 0) return;
      this.plan = { entries, id: undefined, isScheduled: false };
    }
    const { plan } = this;
    // An update without entries keeps the last ones: a plan is never empty.
    if (entries.length > 0) plan.entries = entries;
    if (plan.isScheduled) return;
    plan.isScheduled = true;
    void this.chain.add(() => this.sendPlan(plan, false));
  }

  private async sendPlan(plan: ShownPlan, final: boolean): Promise<void> {
    plan.isScheduled = false;
    await this.closePart();
    await this.sendMessage(plan, { kind: "plan", content: "", entries: plan.entries, final });
  }

  /** Sends a message, or replaces the one that it was sent as. */
  private async sendMessage(
    shown: { id: string | undefined },
    body: OutboundMessage & { readonly final: boolean },
  ): Promise<void> {
    const { message, options } = this;
    if (shown.id === undefined) shown.id = (await message.reply(body)).id;
    // A stopped message takes no more replies, but a shown step must not run indefinitely.
    else if (message.signal.aborted)
      await options.channels.update(message, shown.id, { ...body, inReplyTo: message.id });
    else await message.update(shown.id, body);
  }

  private setTitle(title: string | undefined): void {
    const text = oneLine(title ?? "", 200);
    if (text === "") return;
    void this.chain.add(() => this.options.channels.title(this.message, text));
  }
}
