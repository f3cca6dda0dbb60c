// Passes the result of one delivery back to the connection that received the message.
import type { DeliveryCallbacks, InboundMessage } from "../../channels/index.ts";

type Status = Parameters<DeliveryCallbacks["accepted"]>[0];

/** Receives the result of a delivery. */
interface DeliveryTarget {
  acknowledge(message: InboundMessage, status: Status): void;
  failed(message: InboundMessage, error: unknown): void;
  /** Releases `bytes` from the memory budget. */
  settled(bytes: number): void;
}

/** Passes the result of one delivery back to the connection. */
export class DeliveryAck implements DeliveryCallbacks {
  private readonly target: DeliveryTarget;
  private readonly message: InboundMessage;
  private readonly bytes: number;
  /**
   * The client chose the id, so the acknowledgement can name it and a repeated message is
   * recognised.
   */
  private readonly isKnown: boolean;

  constructor(target: DeliveryTarget, message: InboundMessage, bytes: number, isKnown: boolean) {
    this.target = target;
    this.message = message;
    this.bytes = bytes;
    this.isKnown = isKnown;
  }

  accepted(status: Status): void {
    if (this.isKnown) this.target.acknowledge(this.message, status);
    this.target.settled(this.bytes);
  }

  rejected(error: unknown): void {
    this.target.failed(this.message, error);
    this.target.settled(this.bytes);
  }
}
