import type { Incoming, Outcome } from "../channels/index.ts";

type Status = Parameters<Outcome["accepted"]>[0];

/** Where it came from. */
interface Receiver {
  acknowledge(message: Incoming, status: Status): void;
  failed(message: Incoming, error: unknown): void;
  /** So many bytes are held no more. */
  settled(bytes: number): void;
}

/** What became of one message. */
export class Handed implements Outcome {
  private readonly from: Receiver;
  private readonly message: Incoming;
  private readonly bytes: number;
  /** Who named it can be told, and is known when it sends it again. */
  private readonly isKnown: boolean;

  constructor(from: Receiver, message: Incoming, bytes: number, isKnown: boolean) {
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
