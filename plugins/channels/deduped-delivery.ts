/** Reports the outcome of a delivery whose id other deliveries may repeat. */
import { codeOf } from "../../kernel/index.ts";
import type { TakenIds } from "../conversations/index.ts";
import { channelsErrors } from "./errors.ts";
import type { Dedupe, DeliveryRecord } from "./dedupe.ts";
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

/** @returns Undefined without a store, and for a message whose conversation was deleted. */
const store = (
  { taken }: DedupeContext,
  { channel, session, id }: InboundMessage,
  { digest, isDiscarded }: DeliveryRecord,
  stopped: boolean,
): Promise<void> | undefined =>
  isDiscarded ? undefined : taken?.settle({ channel, session }, id, digest, { stopped });

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
    const stored = store(this.context, this.message, this.record, false);
    if (!stored) return this.reportAccepted(status);
    this.reporting = stored
      .then(
        () => this.reportAccepted(status),
        (error: unknown) => this.reportUnstored(error),
      )
      .catch(this.context.failed);
  }

  rejected(error: unknown): void {
    if (codeOf(error) === "stopped") return this.storeStopped(error);
    this.context.dedupe.forget(this.message, this.record);
    this.reportRejected(error);
  }

  private storeStopped(reason: unknown): void {
    const stored = store(this.context, this.message, this.record, true);
    if (!stored) return this.reportStopped(reason);
    this.reporting = stored
      .then(
        () => this.reportStopped(reason),
        (failure: unknown) => this.reportUnstoredStop(failure),
      )
      .catch(this.context.failed);
  }

  private reportStopped(error: unknown): void {
    this.record.isStopped = true;
    this.settle();
    this.reportRejected(error);
  }

  private reportUnstoredStop(failure: unknown): void {
    this.reportStopped(this.noteUnstored(failure));
  }

  private reportAccepted(status: Status): void {
    this.record.isAccepted = true;
    this.settle();
    try {
      this.outcome.accepted(status);
    } finally {
      this.notifyOthers((other) => other.accepted("duplicate"));
    }
  }

  private settle(): void {
    const { context, message, record } = this;
    if (!record.mustSettle) context.dedupe.settle(message, record);
  }

  /** The application has the message, so a repeated one must not reach it again. */
  private reportUnstored(failure: unknown): void {
    this.record.isAccepted = true;
    const error = this.noteUnstored(failure);
    this.settle();
    this.reportRejected(error);
  }

  /** @returns The error to report: a deleted conversation needs no second attempt. */
  private noteUnstored(failure: unknown): unknown {
    const { record } = this;
    record.mustSettle = !record.isDiscarded;
    return record.isDiscarded ? channelsErrors.stopped() : failure;
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
