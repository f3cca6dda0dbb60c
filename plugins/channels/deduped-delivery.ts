/** Reports the outcome of a delivery whose id other deliveries may repeat. */
import { codeOf } from "../../kernel/index.ts";
import type { TakenIds } from "../conversations/index.ts";
import { channelsErrors } from "./errors.ts";
import type { Dedupe } from "./dedupe.ts";
import type { DeliveryRecord } from "./session.ts";
import type { DeliveryCallbacks, InboundMessage } from "./contract.ts";

/** Callbacks that may need time to report an outcome. */
export interface ReportingCallbacks extends DeliveryCallbacks {
  /** Resolves when the outcome is stored and reported; undefined if that took no time. */
  readonly reporting?: Promise<void> | undefined;
}

/** Dependencies shared by all deliveries. */
export interface DedupeContext {
  readonly dedupe: Dedupe;
  readonly taken: TakenIds | undefined;
  /** Receives errors thrown by the callbacks of a channel. */
  readonly failed: (error: unknown) => void;
}

type Status = Parameters<DeliveryCallbacks["accepted"]>[0];

/** @returns Undefined without a store. Of a deleted message, the store learns only its id. */
const store = (
  { taken }: DedupeContext,
  { channel, session, id }: InboundMessage,
  { digest, isDiscarded }: DeliveryRecord,
  stopped: boolean,
): Promise<void> | undefined =>
  isDiscarded
    ? taken?.discard({ channel, session }, id)
    : taken?.settle({ channel, session }, id, digest, { stopped });

/**
 * Answers a repeated message that was accepted or stopped. If the store did not learn of it at the
 * first attempt, it does now.
 */
export function settleAgain(
  context: DedupeContext,
  message: InboundMessage,
  record: DeliveryRecord,
  callbacks: DeliveryCallbacks,
): void {
  const answer = (): void => {
    if (record.isStopped) callbacks.rejected(channelsErrors.stopped());
    else callbacks.accepted("duplicate");
  };
  if (!record.mustSettle) return answer();
  const retry = async (): Promise<void> => {
    await store(context, message, record, record.isStopped);
    record.mustSettle = false;
    context.dedupe.settle(message, record);
  };
  retry()
    .then(answer, (error: unknown) => callbacks.rejected(error))
    .catch(context.failed);
}

/**
 * Reports the outcome of the first delivery under an id to the repeated deliveries as well. The id
 * of an accepted or stopped message is stored before its channel learns of it.
 */
export class DedupedDelivery implements ReportingCallbacks {
  reporting: Promise<void> | undefined = undefined;
  private readonly context: DedupeContext;
  private readonly message: InboundMessage;
  private readonly record: DeliveryRecord;
  private readonly outcome: DeliveryCallbacks;

  constructor(
    context: DedupeContext,
    message: InboundMessage,
    record: DeliveryRecord,
    deliveryCallbacks: DeliveryCallbacks,
  ) {
    this.context = context;
    this.message = message;
    this.record = record;
    this.outcome = deliveryCallbacks;
  }

  accepted(status: Status): void {
    this.finish(false, () => this.reportAccepted(status));
  }

  rejected(error: unknown): void {
    if (codeOf(error) === "stopped") return this.finish(true, () => this.reportRejected(error));
    this.context.dedupe.forget(this.message, this.record);
    this.reportRejected(error);
  }

  /** From now on a repeated message must not reach the application, also if that is not stored. */
  private finish(isStopped: boolean, report: () => void): void {
    const { context, message, record } = this;
    const known = (): void => {
      record.isAccepted = !isStopped;
      record.isStopped = isStopped;
      if (!record.mustSettle) context.dedupe.settle(message, record);
    };
    const stored = store(context, message, record, isStopped);
    if (!stored) {
      known();
      return report();
    }
    this.reporting = stored
      .then(
        () => {
          known();
          report();
        },
        (failure: unknown) => {
          record.mustSettle = !record.isDiscarded;
          known();
          // A deleted conversation needs no second attempt.
          this.reportRejected(record.isDiscarded ? channelsErrors.stopped() : failure);
        },
      )
      .catch(context.failed);
  }

  private reportAccepted(status: Status): void {
    try {
      this.outcome.accepted(status);
    } finally {
      this.notifyOthers((other) => other.accepted("duplicate"));
    }
  }

  private reportRejected(error: unknown): void {
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
