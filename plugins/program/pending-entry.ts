// One message that the program has received or is about to receive.
import type { Release } from "../../kernel/index.ts";
import type { Message } from "../channels/index.ts";
import type { MessageFiles } from "./message-media.ts";

export type PendingOutcome = "answered" | "failed" | "stopped";

interface PendingMessageOwner {
  readonly leaveSession: () => void;
  /** @returns False if the message was settled before. */
  readonly settle: (outcome: PendingOutcome) => boolean;
  /** @returns The cancel function, or undefined if no timeout applies. */
  readonly startTimeout: () => Release | undefined;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** A message that the program has not finished. */
export class PendingMessage {
  /** Identifier for the program. Unique while this process lives. */
  readonly id: string;
  readonly message: Message;
  /** True while this message is the current one of its session. */
  isCurrent = false;
  isWritten = false;
  isReplying = false;
  /** True after a client stopped the message. Lines about it are dropped. */
  isStopped = false;
  /** The id of the person who stopped it. */
  stoppedBy: string | undefined;
  /** The stored files of the message, once they were found. */
  files: MessageFiles | undefined;
  private readonly owner: PendingMessageOwner;
  private cancelTimeout: Release | undefined;
  /** Open questions about this message. */
  private holds = 0;

  constructor(id: string, message: Message, owner: PendingMessageOwner) {
    this.id = id;
    this.message = message;
    this.owner = owner;
  }

  /** Records that the program accepted the message. The next one of the session may follow. */
  accept(): void {
    this.message.accept();
    this.leaveSession();
  }

  /** Records that the reply is being sent. From now on the channel decides the outcome. */
  startReply(): void {
    this.isReplying = true;
    this.cancelTimeout?.();
  }

  finish(): void {
    if (this.settle(this.isStopped ? "stopped" : "answered")) this.owner.resolve();
    this.leaveSession();
  }

  fail(error: Error): void {
    if (this.settle(this.isStopped ? "stopped" : "failed")) this.owner.reject(error);
    this.leaveSession();
  }

  /** Fails the message, unless its reply is being sent. */
  reject(error: Error): void {
    if (!this.isReplying) this.fail(error);
  }

  /** From now on only the grace period of the stop limits the message. */
  stop(by?: string): void {
    this.isStopped = true;
    this.stoppedBy = by;
    this.cancelTimeout?.();
  }

  /** Lets the next message of the session follow. */
  leaveSession(): void {
    if (!this.isCurrent) return;
    this.isCurrent = false;
    this.owner.leaveSession();
  }

  /** Restarts the timeout after activity on this message. */
  touch(): void {
    if (this.isReplying || this.isStopped || this.holds > 0) return;
    const cancel = this.owner.startTimeout();
    if (!cancel) return;
    this.cancelTimeout?.();
    this.cancelTimeout = cancel;
  }

  /** Pauses the timeout while a person is asked. @returns A function that ends the pause. */
  hold(): Release {
    this.cancelTimeout?.();
    this.cancelTimeout = undefined;
    this.holds += 1;
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.holds -= 1;
      this.touch();
    };
  }

  private settle(outcome: PendingOutcome): boolean {
    const isFirst = this.owner.settle(outcome);
    if (isFirst) this.cancelTimeout?.();
    return isFirst;
  }
}
