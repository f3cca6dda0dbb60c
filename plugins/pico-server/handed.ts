import type { InboundMessage, DeliveryCallbacks } from "../channels/index.ts";

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
