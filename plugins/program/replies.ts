// Passes the output of the program to the channels: replies, updates, deletions and typing.
import { codeOf, type Log } from "../../kernel/index.ts";
import { plainText } from "../../lib/child-process/index.ts";
import { keyOf } from "../../lib/util.ts";
import type { Address, OutboundMessage, Receipt, ToolCall } from "../channels/index.ts";
import { programErrors } from "./errors.ts";
import type { LineAddress, PendingMessage, PendingMessages } from "./pending-messages.ts";
import {
  callsClient,
  endsReply,
  toEnd,
  toOutbound,
  type AppendPayload,
  type CreateFrame,
  type IntendedTarget,
  type MessageFrame,
  type MessagePayload,
} from "./protocol.ts";
import {
  DroppedLines,
  SentMessages,
  createSendQueue,
  type ReplyTarget,
  type SentMessage,
  type SentMessagesOptions,
  type SendQueue,
} from "./sent-messages.ts";
import { mergeCalls, toToolCall } from "./tool-call.ts";

/** Errors of a channel that repeating the send cannot fix: the message itself is at fault. */
const permanentCodes = ["too_large", "unsupported"];
/** A longer text exceeds the limit of a message in any case. */
const maxTextLength = 512 * 1_024;

/** Sessions with a typing indicator at the same time. Programs may forget `typing.stop`. */
const maxTypingSessions = 1_024;

/** The sessions in which the program shows a typing indicator. */
function createTypingState(show: (address: Address, on: boolean) => void) {
  const active = new Map<string, Address>();
  return {
    set(address: Address, on: boolean): void {
      const key = keyOf(address.channel, address.session);
      active.delete(key);
      if (on) active.set(key, address);
      show(address, on);
      const [oldest] = active.size > maxTypingSessions ? active : [];
      if (!oldest) return;
      active.delete(oldest[0]);
      show(oldest[1], false);
    },
    /** Removes the indicator of one session, if the program shows one. */
    hide(address: Address): void {
      if (active.delete(keyOf(address.channel, address.session))) show(address, false);
    },
    /** Removes all typing indicators. */
    clear(): void {
      for (const address of active.values()) show(address, false);
      active.clear();
    },
  };
}

interface RepliesOptions extends Omit<SentMessagesOptions, "enqueue" | "dropped" | "track"> {
  readonly pendingMessages: PendingMessages;
  /** @returns True if the program answers in parts: no text ends its answers. */
  readonly hasParts: () => boolean;
  readonly log: Pick<Log, "warn">;
  readonly pause: (isPaused: boolean) => void;
}

/** Sends the frames of the program to the channels, in order per session. */
export class Replies {
  private readonly options: RepliesOptions;
  private readonly sentMessages: SentMessages;
  private readonly dropped = new DroppedLines();
  /** Runs the sends of a session in order. */
  readonly enqueue: SendQueue;
  private readonly typing: ReturnType<typeof createTypingState>;
  /** The latest unknown `message_id` of an update. */
  private lastUnknown: string | undefined;

  constructor(options: RepliesOptions) {
    this.options = options;
    this.enqueue = createSendQueue(options.pause);
    this.sentMessages = new SentMessages({
      ...options,
      enqueue: this.enqueue,
      dropped: this.dropped,
      track: (sent) => this.settle(undefined, sent),
    });
    this.typing = createTypingState(
      (address, on) => void this.enqueue(address, () => options.channels.typing(address, on)),
    );
  }

  /** Lines that were dropped because their message was stopped. */
  droppedLines(): number {
    return this.dropped.count();
  }

  accept(frame: MessageFrame): void {
    switch (frame.type) {
      case "message.create":
        return this.create(frame);
      case "message.update":
        return this.update(frame.payload.message_id, frame.payload);
      case "message.append":
        return this.append(frame.payload.message_id, frame.payload);
      case "message.delete":
        return this.remove(frame.payload.message_id);
      case "typing.start":
      case "typing.stop": {
        const target = this.findTarget(frame);
        if (target?.request?.isStopped === true) return this.dropped.add();
        target?.request?.touch();
        return target && this.typing.set(target.address, frame.type === "typing.start");
      }
      case "message.ack": {
        const request = this.findTarget(frame)?.request;
        request?.touch();
        if (frame.payload.final !== true) return request?.accept();
        return request && this.endReply(request, frame.payload);
      }
      case "error": {
        const request = this.findTarget(frame)?.request;
        const sentence = plainText(frame.payload.message ?? "", 1_000).trim();
        return request?.reject(
          programErrors.application_refused(sentence || "The application rejected the message."),
        );
      }
    }
  }

  /** Ends the open texts of an answer, because a question follows. */
  closeTexts(request: PendingMessage): void {
    void this.sentMessages.closeAll(request);
  }

  /** Shows the text so far of a stopped reply as final. Later lines about it are dropped. */
  stopped(request: PendingMessage): void {
    void this.sentMessages.closeAll(request);
    this.typing.hide(request.message);
  }

  /**
   * Ends the messages of an answer with their latest state. Resolves when they were sent.
   *
   * @throws The error for the sender, if one of them was lost.
   */
  async closeAnswer(request: PendingMessage): Promise<void> {
    const closed = this.sentMessages.closeAll(request);
    if (!this.sentMessages.forgetAnswer(request)) return;
    // Its earlier messages may still be on their way.
    await this.enqueue(request.message, () => undefined);
    for (const sent of await Promise.allSettled(closed)) {
      const failure = sent.status === "rejected" && this.toFailure(sent.reason);
      if (failure) throw failure;
    }
  }

  /** Fails the message that an invalid line was meant to complete. */
  rejectInvalid({ request, message }: IntendedTarget, problem: string): void {
    const waiting =
      request === undefined
        ? this.sentMessages.get(message ?? "")?.request
        : this.options.pendingMessages.find(request);
    waiting?.reject(programErrors.bad_answer(problem));
  }

  /**
   * Removes placeholders and typing indicators, and completes unfinished messages. After a stop of
   * the kernel they stay incomplete.
   */
  programEnded(isStopped: boolean): void {
    this.sentMessages.evictAll(isStopped);
    this.dropped.clear();
    this.typing.clear();
  }

  /** @returns The session of the message that a frame refers to, or the session it names. */
  private findTarget(frame: MessageFrame & LineAddress): ReplyTarget | undefined {
    const { pendingMessages, log, hasParts } = this.options;
    const { request_id: requestId } = frame.payload;
    if (requestId !== undefined) {
      const request = pendingMessages.find(requestId);
      if (request) return { request, address: request.message };
      const { outcome, address } = pendingMessages.findFinished(requestId) ?? {};
      if (outcome === "answered" && address) return { request: undefined, address };
      if (outcome === "stopped") {
        this.dropped.add(frame.type === "message.create" ? frame.payload.message_id : undefined);
        if (endsReply(frame, hasParts())) pendingMessages.endedLate(requestId);
        return undefined;
      }
      const text = "the program replied to an unknown message or to one that has failed";
      log.warn({ request_id: requestId }, text);
      return undefined;
    }
    const address = pendingMessages.addressIn(frame);
    if (address) return { request: undefined, address };
    log.warn({}, 'the program named neither "request_id" nor "session_id"');
    return undefined;
  }

  /** Ends a reply without a further message, after its earlier ones. */
  private endReply(request: PendingMessage, payload: Parameters<typeof toEnd>[0]): void {
    // A stop that arrives from now on is too late.
    const reason = request.isStopped ? {} : { finishReason: "stop" as const };
    request.message.end({ ...reason, ...toEnd(payload) });
    const sent = this.enqueue(request.message, () => undefined);
    this.settle(request, sent, true);
  }

  /**
   * Fails `request` if a text of its answer is lost. Finishes it when the text was sent, if that
   * ends the answer.
   */
  private settle(
    request: PendingMessage | undefined,
    sent: Promise<Receipt | undefined>,
    endsAnswer = false,
  ): void {
    if (endsAnswer) request?.startReply();
    sent.then(
      () => endsAnswer && request?.finish(),
      (error: Error) => {
        const code = codeOf(error);
        if (code === "stopped") this.dropped.add();
        else
          this.options.log.warn(
            {
              code,
              ...(code === "internal" ? { err: error } : { reason: error.message }),
              request_id: request?.id,
            },
            "a message of the program could not be sent",
          );
        const failure = this.toFailure(error);
        if (failure) request?.fail(failure);
        else if (endsAnswer) request?.finish();
      },
    );
  }

  /** @returns The error for the sender of the request; undefined if the program did reply. */
  private toFailure(error: unknown): Error | undefined {
    const code = codeOf(error);
    // Without a client, the text is not lost through a fault of the program.
    if (code === "stopped" || code === "undeliverable") return undefined;
    const { message } = error as Error;
    return permanentCodes.includes(code) ? programErrors.bad_answer(message) : (error as Error);
  }

  /**
   * @returns True if a final text, or a call for the client, ends the answer: the program does not
   * answer in parts.
   */
  private endsAnswer(kind: OutboundMessage["kind"], calls?: readonly ToolCall[]): boolean {
    return (kind === undefined || callsClient(calls)) && !this.options.hasParts();
  }

  private create(frame: CreateFrame): void {
    const { payload } = frame;
    const { message_id: name, kind, placeholder = false } = payload;
    const target = this.findTarget(frame);
    if (!target) return;
    const { request } = target;
    if (request?.isStopped === true) return this.dropCreate(request, frame);
    if (name !== undefined) {
      // The name may be in use.
      this.sentMessages.evict(name);
      this.dropped.forget(name);
    }
    request?.touch();
    // A part follows what the program wrote before, such as the result of a tool.
    if (request && this.options.hasParts()) this.sentMessages.sendScheduled(request);
    const final = !placeholder && payload.final !== false;
    const outbound = toOutbound(payload);
    const endsAnswer = final && this.endsAnswer(kind, outbound.toolCalls);
    const repeated = { ...(kind && { kind }), ...(request && { inReplyTo: request.message.id }) };
    const message = {
      ...outbound,
      ...(final ? {} : { final }),
      ...repeated,
      ...(request && endsAnswer && { finishReason: "stop" as const, ...toEnd(payload) }),
    };
    const sent = this.enqueue(target.address, async () => {
      const { files, channels } = this.options;
      const resolved = await files.resolve(target.address, message);
      return request ? request.message.reply(resolved) : channels.send(target.address, resolved);
    });
    const isReply = final && (kind === undefined || callsClient(outbound.toolCalls));
    this.settle(isReply ? request : undefined, sent, endsAnswer);
    this.sentMessages.add(target, name, sent, {
      repeated,
      isFinal: final,
      isPlaceholder: placeholder,
      open: final ? undefined : outbound,
      calls: outbound.toolCalls ?? [],
    });
  }

  private dropCreate(request: PendingMessage, frame: CreateFrame): void {
    this.dropped.add(frame.payload.message_id);
    if (endsReply(frame, this.options.hasParts())) this.endReply(request, frame.payload);
  }

  /** @returns True if the line is about a stopped message, and drops it. */
  private dropIfStopped(
    { request, repeated }: SentMessage,
    payload: MessagePayload | AppendPayload,
  ): boolean {
    if (request?.isStopped !== true) return false;
    this.dropped.add();
    const calls = "tool_calls" in payload ? payload.tool_calls?.map(toToolCall) : undefined;
    if (payload.final === true && this.endsAnswer(repeated.kind, calls))
      this.endReply(request, payload);
    return true;
  }

  private append(name: string, payload: AppendPayload): void {
    const message = this.sentMessages.get(name);
    if (!message || message.isFinal || message.isPlaceholder) {
      if (message && this.dropIfStopped(message, payload)) return;
      return this.warnUnknown(name);
    }
    const { open } = message;
    const content = (open?.content ?? "") + payload.content;
    if (content.length <= maxTextLength) return this.update(name, { ...payload, content }, open);
    void this.sentMessages.close(name);
    message.request?.reject(programErrors.bad_answer("its text is over 512 KiB"));
  }

  /** @param before - The state to which the line adds text; without it, the line replaces all. */
  private update(name: string, payload: MessagePayload, before?: OutboundMessage): void {
    const message = this.sentMessages.get(name);
    if (!message) return this.warnUnknown(name);
    if (this.dropIfStopped(message, payload)) return;
    message.request?.touch();
    message.isPlaceholder = false;
    const line = toOutbound(payload);
    const { kind } = message.repeated;
    message.calls = mergeCalls(message.calls, line.toolCalls ?? []);
    const repeated = {
      ...(before?.attachments && { attachments: before.attachments }),
      ...(message.calls.length > 0 && { toolCalls: message.calls }),
    };
    if (payload.final === true) {
      const isReply = !message.isFinal && (kind === undefined || callsClient(message.calls));
      const endsAnswer = isReply && this.endsAnswer(kind, message.calls);
      message.isFinal = true;
      message.open = undefined;
      if (endsAnswer) message.request?.message.end({ finishReason: "stop", ...toEnd(payload) });
      const sent = this.sentMessages.sendUpdate(message, { ...line, ...repeated, final: true });
      return this.settle(isReply ? message.request : undefined, sent, endsAnswer);
    }
    message.open = { ...before, ...line, ...repeated };
    // An update replaces the message that pages show, so it carries the merged state.
    this.sentMessages.schedule(message, { ...line, ...repeated });
  }

  /** Warns once for consecutive updates: a program may write one per token. */
  private warnUnknown(name: string): void {
    if (this.dropped.has(name)) return this.dropped.add();
    if (name !== this.lastUnknown)
      this.options.log.warn(
        { message_id: name },
        this.sentMessages.get(name)
          ? "the program adds text to a message that is not growing"
          : "the program updates a message it has not created",
      );
    this.lastUnknown = name;
  }

  private remove(name: string): void {
    const message = this.sentMessages.get(name);
    if (message) return this.sentMessages.remove(name, message);
    if (this.dropped.has(name)) return;
    const text = "the program deletes a message it has not created";
    this.options.log.warn({ message_id: name }, text);
  }
}
