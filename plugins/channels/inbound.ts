/** Delivers inbound messages to the application and reports the outcome to their channel. */
import { codeOf, type Clock, type Log, type Release } from "../../kernel/index.ts";
import { Dedupe, type DeliveryRecord } from "./dedupe.ts";
import { channelsErrors } from "./errors.ts";
import type {
  Application,
  ApplicationOptions,
  Channels,
  DeliveryCallbacks,
  InboundMessage,
  Message,
  OutboundMessage,
} from "./service.ts";
import { createSessionQueues, type SessionQueues, type Slot } from "./session-queues.ts";

/** One delivery; it settles once. */
export interface PendingDelivery {
  readonly outcome: DeliveryCallbacks;
  settled: boolean;
}

/**
 * The deliveries that have not settled. `accept` and `reject` return `false` if the delivery has
 * already settled.
 */
export interface PendingDeliveries {
  open(deliveryCallbacks: DeliveryCallbacks): PendingDelivery;
  accept(pendingDelivery: PendingDelivery): boolean;
  reject(pendingDelivery: PendingDelivery, error: unknown): boolean;
  rejectAll(error: () => Error): void;
}

/** Settled deliveries kept per open one, so that filtering the list stays cheap. */
const maxSettledPerOpen = 2;
const minListLength = 64;

/**
 * @param failed - Receives errors thrown by the callbacks of a channel. Such an error must not stop
 *   the next messages of the session.
 */
export function createPendingDeliveries(failed: (error: unknown) => void): PendingDeliveries {
  let listed: PendingDelivery[] = [];
  let openCount = 0;

  function settle(pendingDelivery: PendingDelivery): boolean {
    if (pendingDelivery.settled) return false;
    pendingDelivery.settled = true;
    openCount -= 1;
    if (listed.length > minListLength && listed.length > maxSettledPerOpen * openCount)
      listed = listed.filter(({ settled }) => !settled);
    return true;
  }

  function reject(pendingDelivery: PendingDelivery, error: unknown): boolean {
    if (!settle(pendingDelivery)) return false;
    try {
      pendingDelivery.outcome.rejected(error);
    } catch (thrown) {
      failed(thrown);
    }
    return true;
  }

  return {
    reject,
    open(deliveryCallbacks) {
      const pendingDelivery = { outcome: deliveryCallbacks, settled: false };
      openCount += 1;
      listed.push(pendingDelivery);
      return pendingDelivery;
    },
    accept(pendingDelivery) {
      if (!settle(pendingDelivery)) return false;
      try {
        pendingDelivery.outcome.accepted("accepted");
      } catch (thrown) {
        failed(thrown);
      }
      return true;
    },
    rejectAll(error) {
      for (const pendingDelivery of [...listed]) reject(pendingDelivery, error());
    },
  };
}

/** Bridges a message may cross. */
export const maxHops = 4;

export interface InboundOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly send: Channels["send"];
  readonly stream: Channels["stream"];
  readonly received: (message: InboundMessage) => void;
  /** Runs when the application fails after it has accepted the message. */
  readonly failed: (message: InboundMessage, error: unknown) => void;
}

/**
 * Copies a message and sets `inReplyTo`. The copy is made key by key: V8 gives each spread copy a
 * new hidden class, which is slow to read.
 */
function toReply(id: string, message: OutboundMessage): OutboundMessage {
  const {
    content,
    kind,
    placeholder,
    toolCalls,
    attachments,
    inReplyTo = id,
    model,
    contextUsage,
    hops,
  } = message;
  const reply: { -readonly [K in keyof OutboundMessage]: OutboundMessage[K] } = {
    content,
    inReplyTo,
  };
  if (kind !== undefined) reply.kind = kind;
  if (placeholder !== undefined) reply.placeholder = placeholder;
  if (toolCalls !== undefined) reply.toolCalls = toolCalls;
  if (attachments !== undefined) reply.attachments = attachments;
  if (model !== undefined) reply.model = model;
  if (contextUsage !== undefined) reply.contextUsage = contextUsage;
  if (hops !== undefined) reply.hops = hops;
  return reply;
}

/** Reports the outcome of the first delivery under an id to the repeated deliveries as well. */
class DedupedDelivery implements DeliveryCallbacks {
  private readonly dedupe: Dedupe;
  private readonly message: InboundMessage;
  private readonly record: DeliveryRecord;
  private readonly outcome: DeliveryCallbacks;

  constructor(
    dedupe: Dedupe,
    message: InboundMessage,
    record: DeliveryRecord,
    deliveryCallbacks: DeliveryCallbacks,
  ) {
    this.dedupe = dedupe;
    this.message = message;
    this.record = record;
    this.outcome = deliveryCallbacks;
  }

  accepted(status: Parameters<DeliveryCallbacks["accepted"]>[0]): void {
    this.record.isAccepted = true;
    try {
      this.outcome.accepted(status);
    } finally {
      this.notifyOthers((other) => other.accepted("duplicate"));
    }
  }

  rejected(error: unknown): void {
    this.dedupe.forget(this.message, this.record);
    try {
      this.outcome.rejected(error);
    } finally {
      this.notifyOthers((other) => other.rejected(error));
    }
  }

  /** Calls all waiting callbacks, then throws the first error of one of them. */
  private notifyOthers(notify: (other: DeliveryCallbacks) => void): void {
    const { waiting } = this.record;
    if (!waiting) return;
    this.record.waiting = undefined;
    let failure: { readonly error: unknown } | undefined;
    for (const other of waiting) {
      try {
        notify(other);
      } catch (error) {
        failure ??= { error };
      }
    }
    if (failure) throw failure.error;
  }
}

/** Delivers messages to the application: each session in order, different sessions in parallel. */
export class Inbound {
  readonly isBusy: SessionQueues["has"];
  private readonly options: InboundOptions;
  private current: { readonly application: Application; readonly width: number } | undefined;
  private stopping: AbortController | undefined;
  private hasWarned = false;
  private readonly pendingDeliveries: PendingDeliveries;
  private readonly dedupe: Dedupe;
  private readonly queues: SessionQueues;

  constructor(options: InboundOptions) {
    this.options = options;
    this.pendingDeliveries = createPendingDeliveries((err) =>
      options.log.error({ err }, "a channel failed to process the outcome of a message"),
    );
    this.dedupe = new Dedupe(options.clock);
    this.queues = createSessionQueues(() => this.current?.width ?? 1);
    this.isBusy = this.queues.has;
  }

  handle(application: Application, { perSession = 1 }: ApplicationOptions = {}): Release {
    if (this.current) throw channelsErrors.application_taken();
    const registration = { application, width: Math.max(1, perSession) };
    this.current = registration;
    return () => {
      if (this.current === registration) this.current = undefined;
    };
  }

  deliver(
    inboundMessage: InboundMessage,
    deliveryCallbacks: DeliveryCallbacks,
    { dedupe: isDeduplicated = false }: { dedupe?: boolean } = {},
  ): void {
    const { dedupe } = this;
    if (!this.stopping) return deliveryCallbacks.rejected(channelsErrors.not_running());
    if (inboundMessage.hops > maxHops) return deliveryCallbacks.rejected(channelsErrors.loop());
    const before = isDeduplicated ? dedupe.find(inboundMessage) : undefined;
    if (before) return this.deliverAgain(inboundMessage, before, deliveryCallbacks);
    if (!this.current) {
      this.warnOfMissingApplication(inboundMessage);
      return deliveryCallbacks.rejected(channelsErrors.no_application());
    }
    if (!isDeduplicated) return this.enqueue(inboundMessage, deliveryCallbacks);
    const record = dedupe.remember(inboundMessage);
    this.enqueue(
      inboundMessage,
      new DedupedDelivery(dedupe, inboundMessage, record, deliveryCallbacks),
    );
  }

  start(): void {
    this.stopping = new AbortController();
  }

  /** Rejects all pending deliveries, then aborts the signal of the application. */
  stop(): void {
    const controller = this.stopping;
    this.stopping = undefined;
    this.queues.clear();
    this.pendingDeliveries.rejectAll(channelsErrors.not_running);
    controller?.abort(channelsErrors.not_running());
  }

  private warnOfMissingApplication({ channel }: InboundMessage): void {
    if (!this.hasWarned)
      this.options.log.warn({ channel }, channelsErrors.no_application().message);
    this.hasWarned = true;
  }

  private deliverAgain(
    inboundMessage: InboundMessage,
    before: DeliveryRecord,
    deliveryCallbacks: DeliveryCallbacks,
  ): void {
    if (!this.dedupe.isSame(before, inboundMessage))
      deliveryCallbacks.rejected(channelsErrors.id_reused());
    else if (before.isAccepted) deliveryCallbacks.accepted("duplicate");
    else (before.waiting ??= []).push(deliveryCallbacks);
  }

  private enqueue(inboundMessage: InboundMessage, deliveryCallbacks: DeliveryCallbacks): void {
    const pendingDelivery = this.pendingDeliveries.open(deliveryCallbacks);
    this.options.received(inboundMessage);
    this.queues.add(inboundMessage.channel, inboundMessage.session, (slot) =>
      this.run(inboundMessage, pendingDelivery, slot),
    );
  }

  private run(inboundMessage: InboundMessage, pendingDelivery: PendingDelivery, slot: Slot): void {
    const { pendingDeliveries, current, stopping } = this;
    let hasReleased = false;
    const onSuccess = (): void => {
      pendingDeliveries.accept(pendingDelivery);
      slot.end(hasReleased);
    };
    const onFailure = (error: unknown): void => {
      if (!pendingDeliveries.reject(pendingDelivery, error))
        this.failedAfterAcceptance(inboundMessage, error);
      slot.end(hasReleased);
    };
    const accept = (): void => {
      if (!pendingDeliveries.accept(pendingDelivery)) return;
      hasReleased = true;
      slot.release();
    };
    if (!current || !stopping) {
      pendingDeliveries.reject(pendingDelivery, channelsErrors.no_application());
      return slot.end(hasReleased);
    }
    let result: void | Promise<void>;
    try {
      result = current.application(this.toMessage(inboundMessage, accept), stopping.signal);
    } catch (error) {
      return onFailure(error);
    }
    if (result === undefined) onSuccess();
    else Promise.resolve(result).then(onSuccess, onFailure);
  }

  private failedAfterAcceptance(inboundMessage: InboundMessage, error: unknown): void {
    const { channel, session, id, sender } = inboundMessage;
    const user = sender && { user: sender.id };
    const fields = { channel, session, id, ...user, code: codeOf(error), err: error };
    this.options.log.error(fields, "the application failed after it had accepted a message");
    this.options.failed(inboundMessage, error);
  }

  private toMessage(inboundMessage: InboundMessage, accept: () => void): Message {
    const { send, stream: openStream } = this.options;
    const { channel, session, id, content, media, sender, inReplyTo, at, hops } = inboundMessage;
    const to = { channel, session };
    const reply: Message["reply"] = (message) => send(to, toReply(id, message));
    const stream: Message["stream"] = (options) => openStream(to, { inReplyTo: id, ...options });
    // literals without spread, because V8 gives each spread copy its own hidden class
    const message =
      sender === undefined
        ? { channel, session, id, content, media, at, hops, accept, reply, stream }
        : { channel, session, id, content, media, sender, at, hops, accept, reply, stream };
    return inReplyTo === undefined ? message : { ...message, inReplyTo };
  }
}
