// Runs the sends of a turn in the order of the agent, and pauses the agent while too many wait.
import type { Log } from "../../kernel/index.ts";
import { codeOf } from "../../kernel/index.ts";

/** Sends of all sessions that may wait, and the characters of their texts and images. */
const maxWaiting = 512;
const maxWaitingLength = 8 * 1024 * 1024;

/** Counts the sends that wait, over all turns. */
export class Backlog {
  private waiting = 0;
  private waitingLength = 0;
  private isPaused = false;
  private readonly pause: (isPaused: boolean) => void;

  constructor(pause: (isPaused: boolean) => void) {
    this.pause = pause;
  }

  change(by: 1 | -1, length: number): void {
    this.waiting += by;
    this.waitingLength += by * length;
    const share = Math.max(this.waiting / maxWaiting, this.waitingLength / maxWaitingLength);
    const isFull = share > (this.isPaused ? 0.5 : 1);
    if (isFull === this.isPaused) return;
    this.isPaused = isFull;
    this.pause(isFull);
  }
}

/** The sends of one turn. */
export class SendChain {
  /** The first failure that the sender must learn of. */
  failure: Error | undefined;
  private tail: Promise<void> = Promise.resolve();
  private readonly backlog: Backlog;
  private readonly log: Log;

  constructor(backlog: Backlog, log: Log) {
    this.backlog = backlog;
    this.log = log;
  }

  /**
   * Runs after all earlier sends. Never rejects.
   *
   * @param length - Characters that the send keeps in memory.
   */
  add(send: () => Promise<unknown>, length = 0): Promise<void> {
    this.backlog.change(1, length);
    this.tail = this.tail
      .then(send)
      .then(
        () => undefined,
        (error: unknown) => this.failed(error),
      )
      .finally(() => this.backlog.change(-1, length));
    return this.tail;
  }

  /** Resolves when everything that was added has been sent. */
  async drained(): Promise<void> {
    for (let tail; tail !== this.tail;) {
      tail = this.tail;
      await tail;
    }
  }

  private failed(error: unknown): void {
    const code = codeOf(error);
    // Without a client, or after a stop, nothing is lost through a fault of the agent.
    if (code === "stopped" || code === "undeliverable") return;
    const { message } = error as Error;
    this.log.warn({ code, reason: message }, "a part of the agent's answer could not be sent");
    this.failure ??= error as Error;
  }
}
