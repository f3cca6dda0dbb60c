/** The deliveries that the application has neither accepted nor rejected. */
import type { DeliveryCallbacks } from "./service.ts";

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
