// Passes the output of the program to the channels: replies, updates, deletions and typing.
import { codeOf, type Clock, type Log, type Release } from "../../kernel/index.ts";
import type { Address, Channels, OutboundMessage, Receipt } from "../channels/index.ts";
import { programErrors } from "./errors.ts";
import { plainText } from "./output-log.ts";
import type { PendingMessage, PendingMessages } from "./pending-messages.ts";
import {
  toOutbound,
  type CreateFrame,
  type IntendedTarget,
  type MessagePayload,
  type ProgramFrame,
} from "./protocol.ts";

/** Unsettled sends: reading pauses at the first number and continues at the second. */
const pauseAbove = 256;
const resumeBelow = 64;

type SendQueue = <T>(address: Address, run: () => T | Promise<T>) => Promise<T>;

/**
 * Creates a queue that runs the sends of one session in order and those of several sessions in
 * parallel. Calls `pause` when too many sends wait for channels.
 */
function createSendQueue(pause: (isPaused: boolean) => void): SendQueue {
  const lastSends = new Map<string, Promise<unknown>>();
  let pending = 0;

  return function enqueue<T>({ channel, session }: Address, run: () => T | Promise<T>): Promise<T> {
    const key = `${channel}\0${session}`;
    const sent = (lastSends.get(key) ?? Promise.resolve()).then(run);
    const settled = sent
      .catch(() => undefined)
      .then(() => {
        pending -= 1;
        if (lastSends.get(key) === settled) lastSends.delete(key);
        if (pending === resumeBelow) pause(false);
      });
    lastSends.set(key, settled);
    pending += 1;
    if (pending === pauseAbove) pause(true);
    return sent;
  };
}

/** Sessions with a typing indicator at the same time. Programs may forget `typing.stop`. */
const maxTypingSessions = 1_024;

/** The sessions in which the program shows a typing indicator. */
interface TypingState {
  set(address: Address, on: boolean): void;
  /** Removes all typing indicators. */
  clear(): void;
}

function createTypingState(show: (address: Address, on: boolean) => void): TypingState {
  const active = new Map<string, Address>();
  return {
    set(address, on) {
      const key = `${address.channel}\0${address.session}`;
      active.delete(key);
      if (on) active.set(key, address);
      show(address, on);
      const [oldest] = active.size > maxTypingSessions ? active : [];
      if (!oldest) return;
      active.delete(oldest[0]);
      show(oldest[1], false);
    },
    clear() {
      for (const address of active.values()) show(address, false);
      active.clear();
    },
  };
}

/** Time between two updates of a message; at most nine per second. */
const updateIntervalMs = 112;
/** Errors of a channel that repeating the send cannot fix: the message itself is at fault. */
const permanentCodes = ["too_large", "unsupported"];
/** Messages of the program that it may still update. */
const maxOpenMessages = 4_096;

interface RepliesOptions {
  readonly channels: Channels;
  readonly pendingMessages: PendingMessages;
  readonly clock: Clock;
  readonly log: Log;
  readonly after: (ms: number, run: () => void) => Release;
  readonly pause: (isPaused: boolean) => void;
}

/** A message that the program created. */
interface SentMessage {
  readonly address: Address;
  /** The message it replies to. */
  readonly request: PendingMessage | undefined;
  /** Identifier on the channel; undefined if it was not sent. */
  readonly id: Promise<string | undefined>;
  /** Fields that every update repeats. */
  readonly repeated: Pick<OutboundMessage, "kind" | "inReplyTo">;
  isFinal: boolean;
  /** True until an update replaces the placeholder. */
  isPlaceholder: boolean;
  /** Latest text, until the message is final. */
  content: string;
  /** Latest update that has not been sent. */
  nextUpdate: OutboundMessage | undefined;
  updatedAt: number;
  cancelTimer: Release | undefined;
}

interface FrameAddress {
  readonly channel?: string | undefined;
  readonly session_id?: string | undefined;
}
interface ReplyTarget {
  readonly request: PendingMessage | undefined;
  readonly address: Address;
}

/** Sends the frames of the program to the channels, in order per session. */
export class Replies {
  private readonly options: RepliesOptions;
  private readonly sentMessages = new Map<string, SentMessage>();
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

  accept(frame: ProgramFrame): void {
    switch (frame.type) {
      case "message.create":
        return this.create(frame);
      case "message.update":
        return this.update(frame.payload.message_id, frame.payload);
      case "message.delete":
        return this.remove(frame.payload.message_id);
      case "typing.start":
      case "typing.stop": {
        const target = this.findTarget(frame, frame.payload.request_id);
        target?.request?.touch();
        return target && this.typing.set(target.address, frame.type === "typing.start");
      }
      case "message.ack": {
        const request = this.findTarget({}, frame.payload.request_id)?.request;
        request?.touch();
        return frame.payload.final === true ? request?.finish() : request?.accept();
      }
      case "error": {
        const request = this.findTarget({}, frame.payload.request_id)?.request;
        const sentence = plainText(frame.payload.message ?? "", 1_000).trim();
        return request?.reject(
          programErrors.application_refused(sentence || "The application rejected the message."),
        );
      }
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

  /** Completes unfinished messages and removes placeholders and typing indicators. */
  programEnded(): void {
    for (const [name, message] of [...this.sentMessages]) {
      if (message.isPlaceholder) {
        this.remove(name);
        continue;
      }
      if (!message.isFinal) {
        const update = { content: message.content, final: true };
        this.settle(undefined, this.sendUpdate(message, update));
      }
      this.forget(name);
    }
    this.typing.clear();
  }

  /** @returns The session of the message that a frame refers to, or the session it names. */
  private findTarget(
    { channel = "pico", session_id: session }: FrameAddress,
    requestId?: string,
  ): ReplyTarget | undefined {
    const { pendingMessages, log } = this.options;
    if (requestId !== undefined) {
      const request = pendingMessages.find(requestId);
      if (request) return { request, address: request.message };
      const finished = pendingMessages.findFinished(requestId);
      if (finished?.isAnswered) return { request: undefined, address: finished.address };
      log.warn(
        { request_id: requestId },
        "the program replied to an unknown message or to one that has failed",
      );
      return undefined;
    }
    if (session !== undefined) return { request: undefined, address: { channel, session } };
    log.warn({}, 'the program named neither "request_id" nor "session_id"');
    return undefined;
  }

  /** Finishes or fails `request` when its reply has been sent or rejected. */
  private settle(request: PendingMessage | undefined, sent: Promise<Receipt | undefined>): void {
    request?.startReply();
    sent.then(
      () => request?.finish(),
      (error: Error) => {
        const code = codeOf(error);
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

  private create({ payload, ...address }: CreateFrame): void {
    const target = this.findTarget(address, payload.request_id);
    if (!target) return;
    const { request } = target;
    request?.touch();
    const { message_id: name, kind, placeholder = false } = payload;
    const final = !placeholder && payload.final !== false;
    const repeated = { ...(kind && { kind }), ...(request && { inReplyTo: request.message.id }) };
    const message = { ...toOutbound(payload), ...(final ? {} : { final }), ...repeated };
    const sent = this.enqueue(target.address, () =>
      this.options.channels.send(target.address, message),
    );
    const completesReply = final && kind === undefined;
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

  private update(name: string, payload: MessagePayload): void {
    const message = this.sentMessages.get(name);
    if (!message) return this.warnUnknown(name);
    message.request?.touch();
    message.isPlaceholder = false;
    message.content = message.isFinal || payload.final === true ? "" : payload.content;
    if (payload.final === true) {
      const completesReply = !message.isFinal && message.repeated.kind === undefined;
      message.isFinal = true;
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
    if (name !== this.lastUnknown)
      this.options.log.warn(
        { message_id: name },
        "the program updates a message it has not created",
      );
    this.lastUnknown = name;
  }

  private remove(name: string): void {
    const { channels, log } = this.options;
    const message = this.sentMessages.get(name);
    if (!message)
      return log.warn({ message_id: name }, "the program deletes a message it has not created");
    this.forget(name);
    this.settle(
      undefined,
      this.enqueueFor(message, (id) => channels.remove(message.address, id)),
    );
  }
}
