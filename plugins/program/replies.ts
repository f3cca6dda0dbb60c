// Passes the output of the program to the channels: replies, updates, deletions and typing.
import { codeOf, type Clock, type Log, type Release } from "../../kernel/index.ts";
import type { Channels, OutboundMessage, Receipt } from "../channels/index.ts";
import { programErrors } from "./errors.ts";
import { plainText } from "./output-log.ts";
import type { PendingMessage } from "./pending-entry.ts";
import type { PendingMessages } from "./pending-messages.ts";
import {
  endsReply,
  toEnd,
  toOutbound,
  type AppendPayload,
  type CreateFrame,
  type IntendedTarget,
  type MessageFrame,
  type MessagePayload,
} from "./protocol.ts";
import { createSendQueue, type SendQueue } from "./reply-order.ts";
import { DroppedLines, findTarget, type FrameAddress, type ReplyTarget } from "./reply-target.ts";
import type { SentMessage } from "./sent-message.ts";
import { createTypingState, type TypingState } from "./typing-state.ts";

/** Time between two updates of a message; at most nine per second. */
const updateIntervalMs = 112;
/** Errors of a channel that repeating the send cannot fix: the message itself is at fault. */
const permanentCodes = ["too_large", "unsupported"];
/** Messages of the program that it may still update. */
const maxOpenMessages = 4_096;
/** A longer text exceeds the limit of a message in any case. */
const maxTextLength = 512 * 1_024;

interface RepliesOptions {
  readonly channels: Channels;
  readonly pendingMessages: PendingMessages;
  readonly clock: Clock;
  readonly log: Log;
  readonly after: (ms: number, run: () => void) => Release;
  readonly pause: (isPaused: boolean) => void;
}

/** Sends the frames of the program to the channels, in order per session. */
export class Replies {
  private readonly options: RepliesOptions;
  private readonly sentMessages = new Map<string, SentMessage>();
  private readonly dropped = new DroppedLines();
  private readonly enqueue: SendQueue;
  private readonly typing: TypingState;
  /** The latest unknown `message_id` of an update. */
  private lastUnknown: string | undefined;

  constructor(options: RepliesOptions) {
    this.options = options;
    this.enqueue = createSendQueue(options.pause);
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
        const target = this.findTarget(frame, frame, frame.payload.request_id);
        if (target?.request?.isStopped === true) return this.dropped.add();
        target?.request?.touch();
        return target && this.typing.set(target.address, frame.type === "typing.start");
      }
      case "message.ack": {
        const request = this.findTarget(frame, {}, frame.payload.request_id)?.request;
        request?.touch();
        if (frame.payload.final !== true) return request?.accept();
        return request && this.endReply(request, frame.payload);
      }
      case "error": {
        const request = this.findTarget(frame, {}, frame.payload.request_id)?.request;
        const sentence = plainText(frame.payload.message ?? "", 1_000).trim();
        return request?.reject(
          programErrors.application_refused(sentence || "The application rejected the message."),
        );
      }
    }
  }

  /** Shows the text so far of a stopped reply as final. Later lines about it are dropped. */
  stopped(request: PendingMessage): void {
    for (const [name, message] of this.sentMessages)
      if (message.request === request) this.close(name, message);
    this.typing.hide(request.message);
  }

  /** Fails the message that an invalid line was meant to complete. */
  rejectInvalid({ request, message }: IntendedTarget, problem: string): void {
    const waiting =
      request === undefined
        ? this.sentMessages.get(message ?? "")?.request
        : this.options.pendingMessages.find(request);
    waiting?.reject(programErrors.bad_answer(problem));
  }

  /** Completes unfinished messages and removes placeholders and typing indicators. */
  programEnded(): void {
    for (const [name, message] of this.sentMessages) {
      this.close(name, message);
      this.forget(name);
    }
    this.dropped.clear();
    this.typing.clear();
  }

  /** Completes a message with its text so far, or removes it if it is a placeholder. */
  private close(name: string, message: SentMessage): void {
    if (message.isPlaceholder) {
      this.remove(name);
      return this.dropped.remember(name);
    }
    if (message.isFinal) return;
    message.isFinal = true;
    this.settle(undefined, this.sendUpdate(message, { content: message.content, final: true }));
    message.content = "";
  }

  private findTarget(
    frame: MessageFrame,
    address: FrameAddress,
    requestId?: string,
  ): ReplyTarget | undefined {
    return findTarget({ ...this.options, dropped: this.dropped }, frame, address, requestId);
  }

  /** Ends a reply without a further message, after its earlier ones. */
  private endReply(request: PendingMessage, payload: Parameters<typeof toEnd>[0]): void {
    const end = toEnd(payload);
    if (Object.keys(end).length > 0) request.message.end(end);
    this.settle(
      request,
      this.enqueue(request.message, () => undefined),
    );
  }

  /** Finishes or fails `request` when its reply has been sent or rejected. */
  private settle(request: PendingMessage | undefined, sent: Promise<Receipt | undefined>): void {
    request?.startReply();
    sent.then(
      () => request?.finish(),
      (error: Error) => {
        const code = codeOf(error);
        if (code === "stopped") {
          this.dropped.add();
          return request?.finish();
        }
        this.options.log.warn(
          { code, err: error, request_id: request?.id },
          "a message of the program could not be sent",
        );
        // No client is connected, but the program did reply.
        if (code === "undeliverable") return request?.finish();
        const isPermanent = permanentCodes.includes(code);
        request?.fail(isPermanent ? programErrors.bad_answer(error.message) : error);
      },
    );
  }

  private create(frame: CreateFrame): void {
    const { payload } = frame;
    const { message_id: name, kind, placeholder = false } = payload;
    const target = this.findTarget(frame, frame, payload.request_id);
    if (!target) return;
    const { request } = target;
    if (request?.isStopped === true) return this.dropCreate(request, frame);
    if (name !== undefined) this.dropped.forget(name);
    request?.touch();
    const final = !placeholder && payload.final !== false;
    const completesReply = final && kind === undefined;
    const repeated = { ...(kind && { kind }), ...(request && { inReplyTo: request.message.id }) };
    const message = {
      ...toOutbound(payload),
      ...(final ? {} : { final }),
      ...repeated,
      ...(request && completesReply && toEnd(payload)),
    };
    const sent = this.enqueue(target.address, () =>
      request
        ? request.message.reply(message)
        : this.options.channels.send(target.address, message),
    );
    this.settle(completesReply ? request : undefined, sent);
    if (name === undefined) return;
    const id = sent.then(
      (receipt) => receipt.id,
      () => undefined,
    );
    this.sentMessages.set(name, {
      address: target.address,
      request,
      id,
      repeated,
      isFinal: final,
      isPlaceholder: placeholder,
      content: final ? "" : message.content,
      nextUpdate: undefined,
      updatedAt: this.options.clock.now(),
      cancelTimer: undefined,
    });
    if (this.sentMessages.size > maxOpenMessages)
      this.forget(this.sentMessages.keys().next().value!);
  }

  private forget(name: string): void {
    this.sentMessages.get(name)?.cancelTimer?.();
    this.sentMessages.delete(name);
  }

  /** Runs `act` after earlier sends of the session, unless the message was not sent. */
  private enqueueFor(
    { address, id }: SentMessage,
    act: (id: string) => Promise<Receipt>,
  ): Promise<Receipt | undefined> {
    return this.enqueue(address, async () => {
      const channelId = await id;
      return channelId === undefined ? undefined : act(channelId);
    });
  }

  private sendUpdate(
    message: SentMessage,
    update: OutboundMessage & { readonly final?: boolean },
  ): Promise<Receipt | undefined> {
    const { channels, clock } = this.options;
    message.cancelTimer?.();
    message.cancelTimer = message.nextUpdate = undefined;
    message.updatedAt = clock.now();
    const { address, repeated } = message;
    return this.enqueueFor(message, (id) =>
      channels.update(address, id, { ...update, ...repeated }),
    );
  }

  private dropCreate(request: PendingMessage, frame: CreateFrame): void {
    this.dropped.add(frame.payload.message_id);
    if (endsReply(frame)) this.endReply(request, frame.payload);
  }

  /** @returns True if the line is about a stopped message, and drops it. */
  private dropIfStopped(
    { request, repeated }: SentMessage,
    payload: MessagePayload | AppendPayload,
  ): boolean {
    if (request?.isStopped !== true) return false;
    this.dropped.add();
    if (payload.final === true && repeated.kind === undefined) this.endReply(request, payload);
    return true;
  }

  private append(name: string, payload: AppendPayload): void {
    const message = this.sentMessages.get(name);
    if (!message || message.isFinal || message.isPlaceholder) {
      if (message && this.dropIfStopped(message, payload)) return;
      return this.warnUnknown(name);
    }
    const content = message.content + payload.content;
    if (content.length <= maxTextLength) return this.update(name, { ...payload, content });
    this.close(name, message);
    message.request?.reject(programErrors.bad_answer("its text is over 512 KiB"));
  }

  private update(name: string, payload: MessagePayload): void {
    const message = this.sentMessages.get(name);
    if (!message) return this.warnUnknown(name);
    if (this.dropIfStopped(message, payload)) return;
    message.request?.touch();
    message.isPlaceholder = false;
    message.content = message.isFinal || payload.final === true ? "" : payload.content;
    if (payload.final === true) {
      const completesReply = !message.isFinal && message.repeated.kind === undefined;
      message.isFinal = true;
      if (completesReply) message.request?.message.end({ finishReason: "stop", ...toEnd(payload) });
      return this.settle(
        completesReply ? message.request : undefined,
        this.sendUpdate(message, { ...toOutbound(payload), final: true }),
      );
    }
    message.nextUpdate = toOutbound(payload);
    const { clock, after } = this.options;
    // The upper bound applies if the clock was set back.
    const waitMs = Math.min(
      updateIntervalMs,
      Math.max(0, message.updatedAt + updateIntervalMs - clock.now()),
    );
    message.cancelTimer ??= after(waitMs, () => {
      if (message.nextUpdate) this.settle(undefined, this.sendUpdate(message, message.nextUpdate));
    });
  }

  /** Warns once for consecutive updates: a program may write one per token. */
  private warnUnknown(name: string): void {
    if (this.dropped.has(name)) return this.dropped.add();
    if (name !== this.lastUnknown)
      this.options.log.warn(
        { message_id: name },
        this.sentMessages.has(name)
          ? "the program adds text to a message that is not growing"
          : "the program updates a message it has not created",
      );
    this.lastUnknown = name;
  }

  private remove(name: string): void {
    const { channels, log } = this.options;
    const message = this.sentMessages.get(name);
    if (!message && this.dropped.has(name)) return;
    if (!message)
      return log.warn({ message_id: name }, "the program deletes a message it has not created");
    this.forget(name);
    this.settle(
      undefined,
      this.enqueueFor(message, (id) => channels.remove(message.address, id)),
    );
  }
}
