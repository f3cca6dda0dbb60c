import {
  WireError,
  decode,
  messageErrors,
  type ClientFrame,
  type CloseName,
  type ErrorCode,
  type MessagePayload,
  type ServerFrame,
} from "../../../lib/pico-wire/index.ts";
import type { DeliveryCallbacks, InboundMessage } from "../../channels/index.ts";
import { toChannelMedia, toMessageError } from "../session/mapping.ts";
import { Arrivals } from "./arrivals.ts";
import type { ConnectionContext, DeliverMessage } from "./context.ts";
import type { BudgetMember } from "./memory-budget.ts";
import {
  createStrikeCounter,
  createTokenBucket,
  type StrikeCounter,
  type TokenBucket,
} from "./rate-limit.ts";

type Status = Parameters<DeliveryCallbacks["accepted"]>[0];

/** Where it came from. */
interface DeliveryTarget {
  acknowledge(message: InboundMessage, status: Status): void;
  failed(message: InboundMessage, error: unknown): void;
  /** So many bytes are held no more. */
  settled(bytes: number): void;
}

/** What became of one message. */
export class DeliveryAck implements DeliveryCallbacks {
  private readonly from: DeliveryTarget;
  private readonly message: InboundMessage;
  private readonly bytes: number;
  /** Who named it can be told, and is known when it sends it again. */
  private readonly isKnown: boolean;

  constructor(from: DeliveryTarget, message: InboundMessage, bytes: number, isKnown: boolean) {
    this.from = from;
    this.message = message;
    this.bytes = bytes;
    this.isKnown = isKnown;
  }

  accepted(status: Status): void {
    if (this.isKnown) this.from.acknowledge(this.message, status);
    this.from.settled(this.bytes);
  }

  rejected(error: unknown): void {
    this.from.failed(this.message, error);
    this.from.settled(this.bytes);
  }
}

const maxPending = 32;
const withDedupe = { dedupe: true } as const;
const withoutDedupe = { dedupe: false } as const;
/** Looked into for the id although it is refused. */
const maxRejectedFrame = 64 * 1024;
const minuteMs = 60_000;
/** An unfinished message may take this many times `max_payload` in memory, and 16 MiB in any case: a message of
 *  `max_payload` in fragments of 64 bytes fits, and a short one in fragments of one byte. */
const weightFactor = 6;
const minWeightLimit = 16 * 1024 * 1024;
/** Milliseconds an unfinished message has while others wait for it, and its client waits before it comes back. */
const hurryMs = 5_000;
const hurryRetryMs = 5_000;

/** For connections that are between two messages: they need no state of their own. */
let unused = new Arrivals();

/** Whose frames they are. */
export interface InboundOwner {
  /** The session of frames that name none. */
  readonly session: string;
  /** The peer is told what was taken, and messages it sends again are taken once. */
  readonly acknowledges: boolean;
  /** The peer has everything up to this number. */
  acknowledged(seq: number): void;
  hand(...message: Parameters<DeliverMessage>): void;
  answer(frame: ServerFrame): void;
  close(name: CloseName, retryMs?: number): void;
  /** A frame named this session. */
  use(session: string): void;
  /** Reads no more for now; `false`: goes on. */
  pause(isPaused: boolean): void;
  /** Looks at the connection once a second from now on. */
  watch(): void;
}

/** Of the frame that is refused, as far as they could be read. */
interface FrameIds {
  readonly requestId?: string | undefined;
  readonly sessionId?: string | undefined;
}

function decodeFrame(data: Uint8Array): ClientFrame | WireError {
  try {
    return decode(data, "client");
  } catch (error) {
    if (error instanceof WireError) return error;
    throw error;
  }
}

/** Reads the frames of one connection in order. Reading pauses while 32 messages are not accepted, and while all
 *  connections together hold too much; what has arrived of an unfinished message counts. */
export class Inbound implements BudgetMember {
  /** Written by the budget. */
  bytes = 0;
  arriving = 0;
  isPaused = false;
  /** Other connections wait until the unfinished message of this one has arrived. */
  isHurried = false;
  private readonly shared: ConnectionContext;
  private readonly owner: InboundOwner;
  private allowed: TokenBucket | undefined = undefined;
  private tooFast: StrikeCounter | undefined = undefined;
  private malformed: StrikeCounter | undefined = undefined;
  /** What had left the socket before the pause began. */
  private waiting: Uint8Array[] | undefined = undefined;
  private pending = 0;
  private arrivals: Arrivals | undefined = undefined;
  private hurriedAt: number | undefined = undefined;
  private isHeld = false;
  private isStopped = false;
  /** Somebody further up the stack looks at what waits. */
  private isDraining = false;

  constructor(context: ConnectionContext, owner: InboundOwner) {
    this.shared = context;
    this.owner = owner;
  }

  take(data: Uint8Array): void {
    if (this.isStopped) return;
    const { clock, messageRate, budget } = this.shared;
    const now = clock.now();
    this.allowed ??= createTokenBucket(messageRate, now);
    if (!this.allowed(now)) return this.slowDown(data);
    if (this.isFull() || this.hasWaiting()) {
      (this.waiting ??= []).push(data);
      budget.grow(this, data.byteLength);
    } else {
      this.handle(data);
    }
    this.drain();
  }

  /** Counts bytes as they arrive, before the frames in them are read. */
  received(chunk: Buffer): void {
    const arrivals = this.arrivals ?? unused;
    arrivals.read(chunk);
    if (arrivals.isBetweenMessages()) {
      if (this.arrivals) unused = this.arrivals;
      this.arrivals = undefined;
    } else if (arrivals === unused) {
      this.arrivals = unused;
      unused = new Arrivals();
    }
    if (arrivals.weight !== this.arriving) this.arrived(arrivals.weight);
  }

  /** A part of a message is there, and the rest is not. */
  isUnfinished(): boolean {
    return this.arriving > 0;
  }

  /** Called once a second while the unfinished message is hurried. */
  checkDeadline(now: number): void {
    if (this.isPaused) this.hurriedAt = undefined; // by its own 32 messages
    else this.hurriedAt ??= now;
    if (now - (this.hurriedAt ?? now) >= hurryMs) this.owner.close("try_later", hurryRetryMs);
  }

  hurry(isHurried: boolean): void {
    this.isHurried = isHurried;
    this.hurriedAt = undefined;
    if (isHurried) this.owner.watch();
  }

  /** The socket is gone, and what the library kept of an unfinished message with it. */
  gone(): void {
    const { budget } = this.shared;
    budget.arrive(this, 0);
    budget.leave(this);
  }

  /** Something was read and is not accepted yet. */
  isPending(): boolean {
    return this.pending > 0 || this.hasWaiting();
  }

  hold(isHeld: boolean): void {
    this.isHeld = isHeld;
    this.drain();
  }

  stop(): void {
    const { budget } = this.shared;
    this.isStopped = true;
    for (const { byteLength } of this.waiting ?? []) budget.shrink(this, byteLength);
    this.waiting = undefined;
    budget.leave(this);
  }

  private arrived(weight: number): void {
    const { budget, config } = this.shared;
    budget.arrive(this, weight);
    if (this.isHeld) this.drain(); // it was held before this message began
    const limit = Math.max(minWeightLimit, weightFactor * config().max_payload);
    if (weight > limit) this.owner.close("too_big");
  }

  private refuse(
    code: ErrorCode,
    { requestId, sessionId }: FrameIds,
    message = messageErrors[code].message as string,
  ): void {
    const payload = { code, message, ...(requestId !== undefined && { request_id: requestId }) };
    this.owner.answer({ type: "error", session_id: sessionId ?? this.owner.session, payload });
  }

  private slowDown(data: Uint8Array): void {
    const { counters, clock } = this.shared;
    counters.framesIn.invalid += 1;
    const frame = data.byteLength <= maxRejectedFrame ? decodeFrame(data) : undefined;
    const names =
      frame instanceof WireError ? frame : { requestId: frame?.id, sessionId: frame?.session_id };
    this.refuse("rate_limited", names);
    this.tooFast ??= createStrikeCounter(5, minuteMs);
    if (this.tooFast(clock.now())) this.owner.close("rate_limited", 5_000);
  }

  acknowledge({ session, id }: InboundMessage, status: "accepted" | "duplicate"): void {
    this.owner.answer({
      type: "message.ack",
      session_id: session,
      payload: { request_id: id, status },
    });
  }

  failed({ session, id }: InboundMessage, error: unknown): void {
    const { code, message } = toMessageError(error);
    if (code === "internal")
      this.shared.log.error({ err: error, session, id }, "a message could not be processed");
    this.refuse(code, { requestId: id, sessionId: session }, message);
  }

  settled(bytes: number): void {
    this.pending -= 1;
    this.shared.budget.shrink(this, bytes);
    this.drain();
  }

  private handOver(
    bytes: number,
    named: string | undefined,
    session: string,
    payload: MessagePayload,
  ): void {
    const {
      owner,
      shared: { budget, clock, newId },
    } = this;
    const { content, media, hops } = payload;
    const id = named ?? newId();
    const message = {
      channel: "pico",
      session,
      id,
      content,
      media: toChannelMedia(media),
      at: clock.now(),
      hops,
    };
    const isKnown = owner.acknowledges && named !== undefined;
    this.pending += 1;
    budget.grow(this, bytes);
    owner.hand(
      message,
      new DeliveryAck(this, message, bytes, isKnown),
      isKnown ? withDedupe : withoutDedupe,
    );
  }

  private handle(data: Uint8Array): void {
    const {
      owner,
      shared: { counters, clock, typing },
    } = this;
    const frame = decodeFrame(data);
    if (frame instanceof WireError) {
      counters.framesIn.invalid += 1;
      this.refuse(frame.code, frame, frame.message);
      if (frame.code !== "invalid_message") return;
      this.malformed ??= createStrikeCounter(20, minuteMs);
      if (this.malformed(clock.now())) owner.close("bad_request");
      return;
    }
    const session = frame.session_id ?? owner.session;
    owner.use(session);
    if (this.isStopped) return; // it held more than the peer takes
    const { type, id } = frame;
    counters.framesIn[type] += 1;
    if (type === "ping")
      owner.answer({ type: "pong", session_id: session, ...(id === undefined ? {} : { id }) });
    if (type === "message.send" || type === "media.send")
      this.handOver(data.byteLength, id, session, frame.payload);
    if (type === "ack" && owner.acknowledges) owner.acknowledged(frame.payload.seq);
    if (type === "typing.start" || type === "typing.stop") typing(session, type === "typing.start");
  }

  private hasWaiting(): boolean {
    return this.waiting !== undefined && this.waiting.length > 0;
  }

  /** One message may always be handed over, or all could wait for each other. */
  private isFull(): boolean {
    return this.pending >= maxPending || (this.isHeld && this.pending > 0);
  }

  private next(): Uint8Array | undefined {
    return this.isStopped || this.isFull() ? undefined : this.waiting?.shift();
  }

  private drain(): void {
    if (this.isDraining) return;
    this.isDraining = true;
    for (let data = this.next(); data; data = this.next()) {
      this.shared.budget.shrink(this, data.byteLength);
      this.handle(data);
    }
    this.isDraining = false;
    const isFull = this.isFull() || this.hasWaiting() || (this.isHeld && this.arriving > 0);
    if (isFull === this.isPaused || this.isStopped) return;
    this.isPaused = isFull;
    this.owner.pause(isFull);
  }
}
