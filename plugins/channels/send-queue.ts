/** Sends to a network with rate limits, in order per session. */
import type { Release } from "../../kernel/index.ts";
import { channelsErrors } from "./errors.ts";

/** Options of `createSendQueue`. */
export interface SendQueueOptions {
  /** Starts a timer in milliseconds: `after` of the scope, so that the clock is injected. */
  readonly after: (ms: number, run: () => void) => Release;
  /**
   * Reads how long the network asks to wait, in milliseconds. Undefined: the error is not about a
   * rate limit, and the call is not repeated.
   */
  readonly retryAfterMs: (error: unknown) => number | undefined;
  /** Calls of one session that may wait. More are rejected as `rate_limited`. @defaultValue 100 */
  readonly maxPerSession?: number;
  /** Calls that may wait in all sessions. @defaultValue 1,000 */
  readonly maxWaiting?: number;
  /** Attempts per call, with the first one. @defaultValue 5 */
  readonly maxAttempts?: number;
  /** Longest wait that is honoured; a longer one rejects the call. @defaultValue 300,000 (5 min) */
  readonly maxRetryMs?: number;
}

/** A queue for calls to a network with rate limits. */
export interface SendQueue {
  /**
   * Makes the call after all earlier calls of the session. Repeats it after the wait that the
   * network asks for; until then the later calls of the session wait, and other sessions do not.
   *
   * @returns The result of the call.
   * @throws rate_limited if too many calls wait.
   * @throws not_running if the queue was closed before the call was made.
   * @throws The error of the call if the network does not ask to wait, or asks too often or for too
   *   long.
   */
  add<T>(session: string, call: () => Promise<T>): Promise<T>;
  /** Rejects the waiting calls of a session as `stopped`: its conversation is deleted. */
  drop(session: string): void;
  /** Number of calls that have not settled. */
  readonly size: number;
  /** Rejects the waiting calls and all later ones as `not_running`. A call in progress ends. */
  close(): void;
}

interface Task {
  call(): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/**
 * Creates a queue that honours the waits of a network, such as `retry_after` of an HTTP 429 reply.
 *
 * @example
 * import { createSendQueue } from "doorward/plugins/channels";
 * import type { Scope } from "doorward";
 * function start({ after, onStop }: Scope<{}>) {
 *   const retryAfterMs = (error: unknown) => (error as { retryAfterMs?: number }).retryAfterMs;
 *   const queue = createSendQueue({ after, retryAfterMs });
 *   onStop(() => queue.close());
 *   void queue.add("session", () => fetch("https://chat.example.org/send", { method: "POST" }));
 * }
 */
export function createSendQueue(options: SendQueueOptions): SendQueue {
  return new RetryingQueue(options);
}

class RetryingQueue implements SendQueue {
  private readonly options: Required<SendQueueOptions>;
  /** Waiting calls of each session that has a call in progress. */
  private readonly sessions = new Map<string, Task[]>();
  /** End the current waits early. */
  private readonly wakes = new Set<() => void>();
  private count = 0;
  private isClosed = false;

  constructor(options: SendQueueOptions) {
    this.options = {
      maxPerSession: 100,
      maxWaiting: 1_000,
      maxAttempts: 5,
      maxRetryMs: 300_000,
      ...options,
    };
  }

  get size(): number {
    return this.count;
  }

  add<T>(session: string, call: () => Promise<T>): Promise<T> {
    if (this.isClosed) return Promise.reject(channelsErrors.not_running());
    const { maxPerSession, maxWaiting } = this.options;
    const waiting = this.sessions.get(session);
    const isFull = waiting !== undefined && waiting.length >= maxPerSession;
    if (isFull || this.count >= maxWaiting) return Promise.reject(channelsErrors.rate_limited());
    this.count += 1;
    return new Promise<T>((resolve, reject) => {
      const task: Task = { call, reject, resolve: resolve as Task["resolve"] };
      if (waiting) waiting.push(task);
      else void this.drain(session, [task]);
    });
  }

  drop(session: string): void {
    for (const task of this.sessions.get(session)?.splice(0) ?? []) {
      this.count -= 1;
      task.reject(channelsErrors.stopped());
    }
  }

  close(): void {
    this.isClosed = true;
    for (const wake of this.wakes) wake();
  }

  private async drain(session: string, tasks: Task[]): Promise<void> {
    this.sessions.set(session, tasks);
    for (let task = tasks.shift(); task; task = tasks.shift()) {
      await this.run(task);
      this.count -= 1;
    }
    this.sessions.delete(session);
  }

  /** Never rejects. */
  private async run({ call, resolve, reject }: Task): Promise<void> {
    const { maxAttempts, maxRetryMs, retryAfterMs } = this.options;
    for (let attempt = 1; ; attempt += 1) {
      if (this.isClosed) return reject(channelsErrors.not_running());
      try {
        return resolve(await call());
      } catch (error) {
        const waitMs = retryAfterMs(error);
        const isHonoured = waitMs !== undefined && waitMs <= maxRetryMs;
        if (!isHonoured || attempt >= maxAttempts) return reject(error);
        await this.wait(Math.max(0, waitMs));
      }
    }
  }

  private wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        cancel();
        this.wakes.delete(wake);
        resolve();
      };
      const cancel = this.options.after(ms, wake);
      this.wakes.add(wake);
      if (this.isClosed) wake();
    });
  }
}
