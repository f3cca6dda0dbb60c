import type { DeliveryCallbacks } from "./service.ts";

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
