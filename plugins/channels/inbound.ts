import { codeOf, type Clock, type Log, type Release } from "../../kernel/index.ts";
import { createDedupe, type Dedupe, type DeliveryRecord } from "./dedupe.ts";
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
import { createSessionQueues } from "./session-queues.ts";

/** One delivery: settles once, whoever is first. */
export interface PendingDelivery {
  readonly outcome: DeliveryCallbacks;
  settled: boolean;
}

/** All deliveries that have not settled. Each call answers `false` when the delivery had settled before. */
export interface PendingDeliveries {
  open(deliveryCallbacks: DeliveryCallbacks): PendingDelivery;
  accept(pendingDelivery: PendingDelivery): boolean;
  reject(pendingDelivery: PendingDelivery, error: unknown): boolean;
  rejectAll(error: () => Error): void;
}

/** Settled ones that may stay listed for each open one, so that looking through the list costs little. */
const maxSettledPerOpen = 2;
const minListLength = 64;

/** `failed`: a channel threw when it was told; the next messages of its session have nothing to do with it. */
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
      const ticket = { outcome: deliveryCallbacks, settled: false };
      openCount += 1;
      listed.push(ticket);
      return ticket;
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

export const maxHops = 4;

export interface Inbound {
  handle(application: Application, options?: ApplicationOptions): Release;
  deliver(
    message: InboundMessage,
    deliveryCallbacks: DeliveryCallbacks,
    options?: { dedupe?: boolean },
  ): void;
  isBusy(channel: string, session?: string): boolean;
  start(): void;
  /** Tells the application, and rejects every delivery that it has not settled. */
  stop(): void;
}

export interface InboundOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly send: Channels["send"];
  readonly stream: Channels["stream"];
  readonly received: (message: InboundMessage) => void;
  /** The application failed after it had accepted the message. */
  readonly failed: (message: InboundMessage, error: unknown) => void;
}

/** A copy that names what it answers, made key by key: the engine gives a copy by spread a new hidden class each time,
 *  and reading one of those is slow. */
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
  const answer: { -readonly [K in keyof OutboundMessage]: OutboundMessage[K] } = {
    content,
    inReplyTo,
  };
  if (kind !== undefined) answer.kind = kind;
  if (placeholder !== undefined) answer.placeholder = placeholder;
  if (toolCalls !== undefined) answer.toolCalls = toolCalls;
  if (attachments !== undefined) answer.attachments = attachments;
  if (model !== undefined) answer.model = model;
  if (contextUsage !== undefined) answer.contextUsage = contextUsage;
  if (hops !== undefined) answer.hops = hops;
  return answer;
}

/** What became of the first message under an id, told, too, to those who sent it again meanwhile. */
class DedupedDelivery implements DeliveryCallbacks {
  private readonly dedupe: Dedupe;
  private readonly message: InboundMessage;
  private readonly taken: DeliveryRecord;
  private readonly outcome: DeliveryCallbacks;

  constructor(
    dedupe: Dedupe,
    message: InboundMessage,
    deliveryRecord: DeliveryRecord,
    deliveryCallbacks: DeliveryCallbacks,
  ) {
    this.dedupe = dedupe;
    this.message = message;
    this.taken = deliveryRecord;
    this.outcome = deliveryCallbacks;
  }

  accepted(status: Parameters<DeliveryCallbacks["accepted"]>[0]): void {
    this.taken.isAccepted = true;
    try {
      this.outcome.accepted(status);
    } finally {
      this.tellOthers((other) => other.accepted("duplicate"));
    }
  }

  rejected(error: unknown): void {
    this.dedupe.forget(this.message, this.taken);
    try {
      this.outcome.rejected(error);
    } finally {
      this.tellOthers((other) => other.rejected(error));
    }
  }

  /** Each of them, also when one throws. */
  private tellOthers(tell: (other: DeliveryCallbacks) => void): void {
    const { waiting } = this.taken;
    if (!waiting) return;
    this.taken.waiting = undefined;
    let failure: { readonly error: unknown } | undefined;
    for (const other of waiting) {
      try {
        tell(other);
      } catch (error) {
        failure ??= { error };
      }
    }
    if (failure) throw failure.error;
  }
}

/** From the channels to the one application: each session in order, sessions side by side. */
export function createInbound({
  clock,
  log,
  send,
  stream,
  received,
  failed,
}: InboundOptions): Inbound {
  let current: { readonly application: Application; readonly width: number } | undefined;
  let stopping: AbortController | undefined;
  let isWarned = false;
  const pendingDeliveries = createPendingDeliveries((err) =>
    log.error({ err }, "a channel could not be told what became of a message"),
  );
  const dedupe = createDedupe(clock);
  const lanes = createSessionQueues(() => current?.width ?? 1);

  function messageOf(inboundMessage: InboundMessage, accept: () => void): Message {
    const { channel, session, id, content, media, sender, inReplyTo, at, hops } = inboundMessage;
    const to = { channel, session };
    const reply: Message["reply"] = (message) => send(to, toReply(id, message));
    const grow: Message["stream"] = (options) => stream(to, { inReplyTo: id, ...options });
    const message = { channel, session, id, content, media, at, hops, accept, reply, stream: grow };
    if (sender === undefined && inReplyTo === undefined) return message;
    return {
      ...message,
      ...(sender !== undefined && { sender }),
      ...(inReplyTo !== undefined && { inReplyTo }),
    };
  }

  function failedLate(inboundMessage: InboundMessage, error: unknown): void {
    const { channel, session, id } = inboundMessage;
    const fields = { channel, session, id, code: codeOf(error), err: error };
    log.error(fields, "the application failed after it had accepted a message");
    failed(inboundMessage, error);
  }

  function run(
    inboundMessage: InboundMessage,
    pendingDelivery: PendingDelivery,
    done: () => void,
  ): void {
    function taken(): void {
      pendingDeliveries.accept(pendingDelivery);
      done();
    }
    function threw(error: unknown): void {
      if (!pendingDeliveries.reject(pendingDelivery, error)) failedLate(inboundMessage, error);
      done();
    }
    if (!current || !stopping) {
      pendingDeliveries.reject(pendingDelivery, channelsErrors.no_application());
      return done();
    }
    let answer: void | Promise<void>;
    try {
      answer = current.application(
        messageOf(inboundMessage, () => void pendingDeliveries.accept(pendingDelivery)),
        stopping.signal,
      );
    } catch (error) {
      return threw(error);
    }
    if (answer === undefined) taken();
    else Promise.resolve(answer).then(taken, threw);
  }

  function again(
    inboundMessage: InboundMessage,
    before: DeliveryRecord,
    deliveryCallbacks: DeliveryCallbacks,
  ): void {
    if (!dedupe.isSame(before, inboundMessage))
      deliveryCallbacks.rejected(channelsErrors.id_reused());
    else if (before.isAccepted) deliveryCallbacks.accepted("duplicate");
    else (before.waiting ??= []).push(deliveryCallbacks);
  }

  function take(inboundMessage: InboundMessage, deliveryCallbacks: DeliveryCallbacks): void {
    const pendingDelivery = pendingDeliveries.open(deliveryCallbacks);
    received(inboundMessage);
    lanes.add(inboundMessage.channel, inboundMessage.session, (done) =>
      run(inboundMessage, pendingDelivery, done),
    );
  }

  return {
    handle(application, { perSession = 1 } = {}) {
      if (current) throw channelsErrors.application_taken();
      const mine = { application, width: Math.max(1, perSession) };
      current = mine;
      return () => {
        if (current === mine) current = undefined;
      };
    },

    deliver(inboundMessage, deliveryCallbacks, { dedupe: once = false } = {}) {
      if (!stopping) return deliveryCallbacks.rejected(channelsErrors.not_running());
      if (inboundMessage.hops > maxHops) return deliveryCallbacks.rejected(channelsErrors.loop());
      const before = once ? dedupe.find(inboundMessage) : undefined;
      if (before) return again(inboundMessage, before, deliveryCallbacks);
      if (!current) {
        if (!isWarned)
          log.warn({ channel: inboundMessage.channel }, channelsErrors.no_application().message);
        isWarned = true;
        return deliveryCallbacks.rejected(channelsErrors.no_application());
      }
      if (!once) return take(inboundMessage, deliveryCallbacks);
      take(
        inboundMessage,
        new DedupedDelivery(
          dedupe,
          inboundMessage,
          dedupe.remember(inboundMessage),
          deliveryCallbacks,
        ),
      );
    },

    isBusy: lanes.has,

    start: () => void (stopping = new AbortController()),

    stop() {
      const controller = stopping;
      stopping = undefined;
      lanes.clear();
      pendingDeliveries.rejectAll(channelsErrors.not_running);
      controller?.abort(channelsErrors.not_running());
    },
  };
}
