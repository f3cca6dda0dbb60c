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
  open(outcome: DeliveryCallbacks): PendingDelivery;
  accept(ticket: PendingDelivery): boolean;
  reject(ticket: PendingDelivery, error: unknown): boolean;
  rejectAll(error: () => Error): void;
}

/** Settled ones that may stay listed for each open one, so that looking through the list costs little. */
const maxSettledPerOpen = 2;
const minListLength = 64;

/** `failed`: a channel threw when it was told; the next messages of its session have nothing to do with it. */
export function createPendingDeliveries(failed: (error: unknown) => void): PendingDeliveries {
  let listed: PendingDelivery[] = [];
  let openCount = 0;

  function settle(ticket: PendingDelivery): boolean {
    if (ticket.settled) return false;
    ticket.settled = true;
    openCount -= 1;
    if (listed.length > minListLength && listed.length > maxSettledPerOpen * openCount)
      listed = listed.filter(({ settled }) => !settled);
    return true;
  }

  function reject(ticket: PendingDelivery, error: unknown): boolean {
    if (!settle(ticket)) return false;
    try {
      ticket.outcome.rejected(error);
    } catch (thrown) {
      failed(thrown);
    }
    return true;
  }

  return {
    reject,
    open(outcome) {
      const ticket = { outcome, settled: false };
      openCount += 1;
      listed.push(ticket);
      return ticket;
    },
    accept(ticket) {
      if (!settle(ticket)) return false;
      try {
        ticket.outcome.accepted("accepted");
      } catch (thrown) {
        failed(thrown);
      }
      return true;
    },
    rejectAll(error) {
      for (const ticket of [...listed]) reject(ticket, error());
    },
  };
}

export const maxHops = 4;

export interface Inbound {
  handle(application: Application, options?: ApplicationOptions): Release;
  deliver(
    message: InboundMessage,
    outcome: DeliveryCallbacks,
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
    taken: DeliveryRecord,
    outcome: DeliveryCallbacks,
  ) {
    this.dedupe = dedupe;
    this.message = message;
    this.taken = taken;
    this.outcome = outcome;
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
  const tickets = createPendingDeliveries((err) =>
    log.error({ err }, "a channel could not be told what became of a message"),
  );
  const dedupe = createDedupe(clock);
  const lanes = createSessionQueues(() => current?.width ?? 1);

  function messageOf(incoming: InboundMessage, accept: () => void): Message {
    const { channel, session, id, content, media, sender, inReplyTo, at, hops } = incoming;
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

  function failedLate(incoming: InboundMessage, error: unknown): void {
    const { channel, session, id } = incoming;
    const fields = { channel, session, id, code: codeOf(error), err: error };
    log.error(fields, "the application failed after it had accepted a message");
    failed(incoming, error);
  }

  function run(incoming: InboundMessage, ticket: PendingDelivery, done: () => void): void {
    function taken(): void {
      tickets.accept(ticket);
      done();
    }
    function threw(error: unknown): void {
      if (!tickets.reject(ticket, error)) failedLate(incoming, error);
      done();
    }
    if (!current || !stopping) {
      tickets.reject(ticket, channelsErrors.no_application());
      return done();
    }
    let answer: void | Promise<void>;
    try {
      answer = current.application(
        messageOf(incoming, () => void tickets.accept(ticket)),
        stopping.signal,
      );
    } catch (error) {
      return threw(error);
    }
    if (answer === undefined) taken();
    else Promise.resolve(answer).then(taken, threw);
  }

  function again(
    incoming: InboundMessage,
    before: DeliveryRecord,
    outcome: DeliveryCallbacks,
  ): void {
    if (!dedupe.isSame(before, incoming)) outcome.rejected(channelsErrors.id_reused());
    else if (before.isAccepted) outcome.accepted("duplicate");
    else (before.waiting ??= []).push(outcome);
  }

  function take(incoming: InboundMessage, outcome: DeliveryCallbacks): void {
    const ticket = tickets.open(outcome);
    received(incoming);
    lanes.add(incoming.channel, incoming.session, (done) => run(incoming, ticket, done));
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

    deliver(incoming, outcome, { dedupe: once = false } = {}) {
      if (!stopping) return outcome.rejected(channelsErrors.not_running());
      if (incoming.hops > maxHops) return outcome.rejected(channelsErrors.loop());
      const before = once ? dedupe.find(incoming) : undefined;
      if (before) return again(incoming, before, outcome);
      if (!current) {
        if (!isWarned)
          log.warn({ channel: incoming.channel }, channelsErrors.no_application().message);
        isWarned = true;
        return outcome.rejected(channelsErrors.no_application());
      }
      if (!once) return take(incoming, outcome);
      take(incoming, new DedupedDelivery(dedupe, incoming, dedupe.remember(incoming), outcome));
    },

    isBusy: lanes.has,

    start: () => void (stopping = new AbortController()),

    stop() {
      const controller = stopping;
      stopping = undefined;
      lanes.clear();
      tickets.rejectAll(channelsErrors.not_running);
      controller?.abort(channelsErrors.not_running());
    },
  };
}
