/** Reads the frames of one connection, delivers its messages, and pauses reading under load. */
import {
  WireError,
  messageErrors,
  type AnswerPayload,
  type ClientFrame,
  type CloseName,
  type ErrorCode,
  type MessagePayload,
  type ServerFrame,
} from "../../../lib/pico-wire/index.ts";
import type { DeliveryCallbacks, InboundMessage, Sender } from "../../channels/index.ts";
import {
  decodeFrame,
  namesFiles,
  storeErrorOf,
  toChannelMedia,
  toMessageError,
  toSkippedNotice,
  toStoppedMessages,
} from "../session/channel-adapter.ts";
import type { FoundFiles } from "../session/message-files.ts";
import { answerQuestion, type Answerer } from "../session/answers.ts";
import { noStopRight, toStopper, whyNotAllowed } from "../session/rights.ts";
import { tokenSessionMessage } from "../session/session-guard.ts";
import type { Features } from "../session/features.ts";
import type { SessionScope } from "../session/session-scope.ts";
import type { Subscriptions } from "../session/subscriptions.ts";
import type { ConnectionContext } from "./context.ts";
import type { FrameSource } from "./frame-turns.ts";
import type { BudgetMember } from "./memory-budget.ts";
import {
  createStrikeCounter,
  createTokenBucket,
  type StrikeCounter,
  type TokenBucket,
} from "./rate-limit.ts";

/** The connection that owns these frames. */
export interface InboundOwner {
  /** The session of frames that have no `session_id`. */
  readonly session: string;
  readonly sender: Sender;
  /** The rights of the client; undefined: all. */
  readonly may: Answerer["may"];
  readonly answerer: Answerer;
  /** Undefined if a sign-in authenticated the client instead of the channel token. */
  readonly tokenVersion: number | undefined;
  /** Undefined: every session. */
  readonly scope: SessionScope | undefined;
  /** The client receives acknowledgements, and repeated messages are delivered once. */
  readonly acknowledges: boolean;
  readonly features: Features;
  /** The turns that this client wrote. Used only for clients that asked for turns. */
  readonly subscriptions: Pick<Subscriptions, "expectTurn" | "takeTurn" | "dropTurn">;
  /** The client has received everything up to this sequence number. */
  acknowledged(seq: number): void;
  /** A message goes to the application. */
  countMessage(): void;
  respond(frame: ServerFrame): void;
  close(name: CloseName, retryMs?: number): void;
  /** The server failed to process a frame. */
  failed(error: unknown): void;
  /** True if the connection has used this session before. */
  usesSession(session: string): boolean;
  /** A frame contained this session id. */
  use(session: string): void;
  /** True while so many frames wait for the client that it should read them first. */
  isCongested(): boolean;
  /** Pauses reading, or resumes it. */
  pause(isPaused: boolean): void;
  /** Checks the connection once a second from now on. */
  scheduleCheck(): void;
}

/** Frames that need the right to write. */
const writingTypes: ReadonlySet<ClientFrame["type"]> = new Set([
  "message.send",
  "media.send",
  "typing.start",
  "typing.stop",
]);
const maxPending = 32;
const withDedupe = { dedupe: true } as const;
const withoutDedupe = { dedupe: false } as const;
/** Larger frames beyond the rate limit are rejected without decoding them to find their id. */
const maxRejectedFrame = 64 * 1024;
const minuteMs = 60_000;
/**
 * Milliseconds that an unfinished message has while other connections wait for it, and that its
 * client must wait before it reconnects.
 */
const deadlineMs = 5_000;
const deadlineRetryMs = 5_000;

/** @returns The id of the message that this one is a new version of. */
const replacedBy = ({ type, payload }: ClientFrame & { payload?: unknown }): string | undefined =>
  type === "message.send" || type === "media.send"
    ? (payload as MessagePayload).replaces
    : undefined;

type DeliveryStatus = Parameters<DeliveryCallbacks["accepted"]>[0];

/** Passes the result of one delivery back to the connection. */
class DeliveryAck implements DeliveryCallbacks {
  private readonly inbound: Inbound;
  private readonly message: InboundMessage;
  private readonly bytes: number;
  /**
   * The client chose the id, so the acknowledgement can name it and a repeated message is
   * recognised.
   */
  private readonly isKnown: boolean;

  constructor(inbound: Inbound, message: InboundMessage, bytes: number, isKnown: boolean) {
    this.inbound = inbound;
    this.message = message;
    this.bytes = bytes;
    this.isKnown = isKnown;
  }

  accepted(status: DeliveryStatus): void {
    if (this.isKnown) this.inbound.acknowledge(this.message, status);
    this.inbound.settled(this.bytes);
  }

  rejected(error: unknown): void {
    this.inbound.failed(this.message, error);
    this.inbound.settled(this.bytes);
  }
}

/** A frame in the queue. */
interface QueuedFrame {
  readonly data: Uint8Array;
  /** It exceeds the rate limit: it is rejected after the frames before it were handled. */
  readonly isTooFast: boolean;
}

/** Ids of a rejected frame, as far as they could be read. */
interface FrameIds {
  readonly requestId?: string | undefined;
  readonly sessionId?: string | undefined;
}

const idsOf = ({ id, session_id }: ClientFrame): FrameIds => ({
  requestId: id,
  sessionId: session_id,
});

/**
 * Pauses reading while the application has not accepted 32 messages, while half of the send queue
 * is used, while frames wait for a later turn of the event loop, and while all connections together
 * exceed the memory budget. The arrived part of an
 * unfinished message counts.
 */
export class Inbound implements BudgetMember, FrameSource {
  /** Written by the memory budget. */
  bytes = 0;
  arriving = 0;
  isPaused = false;
  /** Other connections wait until the unfinished message of this one has arrived. */
  hasDeadline = false;
  private readonly context: ConnectionContext;
  private readonly owner: InboundOwner;
  private rate: TokenBucket | undefined = undefined;
  private rateStrikes: StrikeCounter | undefined = undefined;
  private malformedStrikes: StrikeCounter | undefined = undefined;
  /** Frames that had already left the socket when the pause started. */
  private queued: QueuedFrame[] | undefined = undefined;
  private pending = 0;
  private deadlineStartedAt: number | undefined = undefined;
  private isPausedByBudget = false;
  /** True while the stores are asked about a frame. Later frames wait. */
  private isChecking = false;
  private isStopped = false;
  /** True while `drain` is running; prevents re-entrant calls. */
  private isDraining = false;

  constructor(context: ConnectionContext, owner: InboundOwner) {
    this.context = context;
    this.owner = owner;
  }

  accept(data: Uint8Array): void {
    if (this.isStopped) return;
    const { delivery, runtime } = this.context;
    const now = runtime.clock.now();
    this.rate ??= createTokenBucket(runtime.config, now);
    const isTooFast = !this.rate(now);
    if (isTooFast && !this.hasQueued()) return this.rejectTooFast(data);
    if (this.isFull() || this.hasQueued() || !delivery.turns.take(this)) {
      (this.queued ??= []).push({ data, isTooFast });
      delivery.budget.grow(this, data.byteLength);
    } else {
      this.handle(data);
    }
    this.drain();
  }

  /** Counts the memory of an unfinished message, in bytes. 0: there is none. */
  arrived(bytes: number): void {
    if (this.isStopped) return;
    this.context.delivery.budget.arrive(this, bytes);
    // The budget may have paused this connection before the message started.
    if (this.isPausedByBudget) this.drain();
  }

  /** Called once a second while the unfinished message has a deadline. */
  checkDeadline(now: number): void {
    // paused by its own 32 unaccepted messages, not by its client
    if (this.isPaused) this.deadlineStartedAt = undefined;
    else this.deadlineStartedAt ??= now;
    if (now - (this.deadlineStartedAt ?? now) >= deadlineMs)
      this.owner.close("try_later", deadlineRetryMs);
  }

  setDeadline(hasDeadline: boolean): void {
    this.hasDeadline = hasDeadline;
    this.deadlineStartedAt = undefined;
    if (hasDeadline) this.owner.scheduleCheck();
  }

  /** The socket closed, and the unfinished message was released. */
  closed(): void {
    const { budget } = this.context.delivery;
    budget.arrive(this, 0);
    budget.leave(this);
  }

  /** True while the application has not accepted a message that was read. */
  isPending(): boolean {
    return this.pending > 0 || this.hasQueued();
  }

  setBudgetPause(isPaused: boolean): void {
    this.isPausedByBudget = isPaused;
    this.drain();
  }

  stop(): void {
    const { budget, turns } = this.context.delivery;
    this.isStopped = true;
    turns.leave(this);
    for (const { data } of this.queued ?? []) budget.shrink(this, data.byteLength);
    this.queued = undefined;
    budget.leave(this);
  }

  private reject(
    code: ErrorCode,
    { requestId, sessionId }: FrameIds,
    message = messageErrors[code].message as string,
  ): void {
    const payload = { code, message, ...(requestId !== undefined && { request_id: requestId }) };
    this.owner.respond({ type: "error", session_id: sessionId ?? this.owner.session, payload });
  }

  private rejectTooFast(data: Uint8Array): void {
    const { counters, runtime } = this.context;
    counters.framesIn.invalid += 1;
    const frame = data.byteLength <= maxRejectedFrame ? decodeFrame(data) : undefined;
    const ids = frame instanceof WireError ? frame : frame && idsOf(frame);
    this.reject("rate_limited", ids ?? {});
    this.rateStrikes ??= createStrikeCounter(5, minuteMs);
    if (this.rateStrikes(runtime.clock.now())) this.owner.close("rate_limited", 5_000);
  }

  acknowledge({ session, id }: InboundMessage, status: DeliveryStatus): void {
    const { owner } = this;
    const payload = { request_id: id, status };
    const position = owner.features.turns ? owner.subscriptions.takeTurn(session, id) : undefined;
    const frame = { type: "message.ack", session_id: session, payload } as const;
    owner.respond(position ? { ...frame, ...position } : frame);
  }

  failed({ session, id, sender }: InboundMessage, error: unknown): void {
    const { log } = this.context.runtime;
    if (this.owner.features.turns) this.owner.subscriptions.dropTurn(session, id);
    const { code, message } = toMessageError(error);
    if (code === "internal")
      log.error({ err: error, session, id, user: sender?.id }, "Message could not be processed");
    this.reject(code, { requestId: id, sessionId: session }, message);
  }

  settled(bytes: number): void {
    this.pending -= 1;
    this.context.delivery.budget.shrink(this, bytes);
    this.drain();
  }

  private deliver(
    bytes: number,
    givenId: string | undefined,
    session: string,
    payload: MessagePayload,
    files: FoundFiles | undefined,
  ): void {
    const { owner } = this;
    const { runtime, delivery } = this.context;
    const { content, hops, skipped, replaces } = payload;
    const id = givenId ?? runtime.newId();
    const media = toChannelMedia(payload.media, files);
    const at = runtime.clock.now();
    const { sender } = owner;
    const plain = { channel: "pico", session, id, content, media, sender, at, hops };
    const message: InboundMessage = replaces === undefined ? plain : { ...plain, replaces };
    const isKnown = owner.acknowledges && givenId !== undefined;
    this.pending += 1;
    delivery.budget.grow(this, bytes);
    if (skipped && owner.acknowledges) owner.respond(toSkippedNotice(session, givenId, skipped));
    if (owner.features.turns && !owner.features.waiting)
      owner.subscriptions.expectTurn(session, id, isKnown);
    const callbacks = new DeliveryAck(this, message, bytes, isKnown);
    owner.countMessage();
    delivery.deliver(message, callbacks, isKnown ? withDedupe : withoutDedupe);
  }

  private handle(data: Uint8Array): void {
    const frame = decodeFrame(data);
    if (frame instanceof WireError) return this.rejectFrame(frame.code, frame, frame.message);
    if (!this.knows(frame.type)) return this.rejectFrame("unknown_type", idsOf(frame));
    const forbidden = writingTypes.has(frame.type) ? whyNotAllowed(this.owner, "write") : undefined;
    if (forbidden !== undefined) return this.rejectFrame("not_allowed", idsOf(frame), forbidden);
    const { session: own, scope } = this.owner;
    const { session_id: name = own } = frame;
    const session = scope === undefined ? name : scope.resolve(name);
    if (session === undefined) this.rejectFrame("session_forbidden", idsOf(frame));
    else if (
      this.owner.usesSession(session) &&
      replacedBy(frame) === undefined &&
      !namesFiles(frame)
    )
      this.process(frame, session, data.byteLength);
    else void this.processChecked(frame, session, data.byteLength);
  }

  /** True unless the client must ask for frames of this type with `pico_can`. */
  private knows(type: ClientFrame["type"]): boolean {
    const { features } = this.owner;
    if (type === "message.stop") return features.stop;
    return type !== "question.answer" || features.questions;
  }

  private rejectFrame(code: ErrorCode, ids: FrameIds, message?: string): void {
    const { counters, runtime } = this.context;
    counters.framesIn.invalid += 1;
    this.reject(code, ids, message);
    if (code !== "invalid_message") return;
    this.malformedStrikes ??= createStrikeCounter(20, minuteMs);
    if (this.malformedStrikes(runtime.clock.now())) this.owner.close("bad_request");
  }

  /** Asks the stores about a frame, and reads no further frame until they have answered. */
  private async processChecked(frame: ClientFrame, session: string, bytes: number): Promise<void> {
    const { context, owner } = this;
    const { budget } = context.delivery;
    this.isChecking = true;
    this.pending += 1;
    budget.grow(this, bytes);
    try {
      const isToken =
        !owner.usesSession(session) &&
        (await context.delivery.isToken(session, owner.tokenVersion !== undefined));
      if (!isToken) await this.assertReplaceable(frame, session);
      const files = isToken ? undefined : await this.claimFiles(frame, session);
      this.isChecking = false;
      if (this.isStopped) return;
      // The session id is not repeated, because it is a token.
      if (isToken)
        this.rejectFrame("invalid_message", { requestId: frame.id }, tokenSessionMessage);
      else this.process(frame, session, bytes, files);
    } catch (error) {
      this.isChecking = false;
      if (error instanceof WireError)
        this.rejectFrame(error.code, { requestId: frame.id, sessionId: session }, error.message);
      // The tokens or the conversation cannot be read now.
      else if (storeErrorOf(error) === undefined) owner.failed(error);
      else this.reject("busy", { requestId: frame.id });
    } finally {
      this.settled(bytes);
    }
  }

  /** @throws WireError if the session has no message that the frame would replace. */
  private async assertReplaceable(frame: ClientFrame, session: string): Promise<void> {
    const replaced = replacedBy(frame);
    if (replaced === undefined || (await this.context.sessions.hasTurn(session, replaced))) return;
    throw new WireError("unknown_turn", messageErrors.unknown_turn.message);
  }

  /** Without files, the frame is not delayed. */
  private claimFiles(frame: ClientFrame, session: string): Promise<FoundFiles> | undefined {
    if (!namesFiles(frame)) return undefined;
    const { media } = (frame as { payload: MessagePayload }).payload;
    return this.context.files.claim(session, media);
  }

  private process(frame: ClientFrame, session: string, bytes: number, files?: FoundFiles): void {
    const { owner, context } = this;
    const { counters, delivery } = context;
    owner.use(session);
    if (this.isStopped) return; // the replay exceeded the send queue, so the connection closed
    const { type, id } = frame;
    counters.framesIn[type] += 1;
    if (type === "ping")
      owner.respond({ type: "pong", session_id: session, ...(id === undefined ? {} : { id }) });
    if (type === "message.send" || type === "media.send")
      this.deliver(bytes, id, session, frame.payload, files);
    if (type === "ack" && owner.acknowledges) owner.acknowledged(frame.payload.seq);
    if (type === "message.stop") void this.stopMessages(session, id, frame.payload.request_id);
    if (type === "question.answer") void this.answer(session, id, frame.payload);
    if (type === "typing.start" || type === "typing.stop")
      delivery.typing(session, type === "typing.start");
  }

  private async stopMessages(
    session: string,
    frameId: string | undefined,
    id: string | undefined,
  ): Promise<void> {
    const { owner, context } = this;
    try {
      const by = toStopper(owner);
      if (!by) return this.reject("not_allowed", { requestId: frameId }, noStopRight(owner));
      const stopped = toStoppedMessages(await context.delivery.stop(session, id, by));
      const payload = { ...(frameId !== undefined && { request_id: frameId }), stopped };
      if (!this.isStopped) owner.respond({ type: "stop.ack", session_id: session, payload });
    } catch (error) {
      owner.failed(error);
    }
  }

  private async answer(
    session: string,
    frameId: string | undefined,
    payload: AnswerPayload,
  ): Promise<void> {
    const { owner, context } = this;
    const { delivery, runtime } = context;
    const options = { answer: delivery.answer, config: runtime.config };
    try {
      const ack = await answerQuestion(options, session, payload, owner.answerer);
      if (this.isStopped) return;
      const ids = frameId === undefined ? {} : { request_id: frameId };
      owner.respond({ type: "question.ack", session_id: session, payload: { ...ids, ...ack } });
    } catch (error) {
      owner.failed(error);
    }
  }

  private hasQueued(): boolean {
    return this.queued !== undefined && this.queued.length > 0;
  }

  /** One message may always be delivered, or all connections could wait for each other. */
  private isFull(): boolean {
    return (
      this.isChecking ||
      this.pending >= maxPending ||
      (this.isPausedByBudget && this.pending > 0) ||
      this.owner.isCongested()
    );
  }

  private next(): QueuedFrame | undefined {
    if (this.isStopped || this.isFull() || !this.hasQueued()) return undefined;
    return this.context.delivery.turns.take(this) ? this.queued!.shift() : undefined;
  }

  /** Delivers waiting frames, and pauses reading or resumes it. */
  drain(): void {
    if (this.isDraining) return;
    this.isDraining = true;
    for (let frame = this.next(); frame; frame = this.next()) {
      const { data, isTooFast } = frame;
      this.context.delivery.budget.shrink(this, data.byteLength);
      if (isTooFast) this.rejectTooFast(data);
      else this.handle(data);
    }
    this.isDraining = false;
    const mustPause =
      this.isFull() || this.hasQueued() || (this.isPausedByBudget && this.arriving > 0);
    if (mustPause === this.isPaused || this.isStopped) return;
    this.isPaused = mustPause;
    this.owner.pause(mustPause);
  }
}
