/** Limits how often one message is edited: updates are merged, and the last text is always sent. */
import type { Clock, Release } from "../../kernel/index.ts";

/** Options of `createEditThrottle`. */
export interface EditThrottleOptions<M, R> {
  /** The clock of the scope. */
  readonly clock: Clock;
  /** Starts a timer in milliseconds: `after` of the scope. */
  readonly after: (ms: number, run: () => void) => Release;
  /** Edits one message. At most one edit of a message is in progress. */
  readonly edit: (key: string, message: M) => Promise<R>;
  /** Receives the error of an edit that was sent later, for which no caller waits. */
  readonly failed: (key: string, error: unknown) => void;
  /** Shortest time between two edits of one message, in milliseconds. @defaultValue 1,000 */
  readonly intervalMs?: number;
}

/** Merges the updates of each message. `key` names the message. */
export interface EditThrottle<M, R> {
  /** Reports that the message was just sent, so that its first edit waits for the interval. */
  sent(key: string): void;
  /**
   * Edits the message now, or stores the update until the interval has passed. A later update
   * replaces a stored one.
   *
   * @returns The result of the edit; undefined if the update is stored.
   */
  update(key: string, message: M): Promise<R> | undefined;
  /**
   * Makes the last edit of the message, without waiting for the interval. It replaces a stored
   * update and follows an edit in progress. Later updates of the message are ignored until it ends.
   */
  finish(key: string, message: M): Promise<R>;
  /** Number of messages with a stored update, an edit in progress or a running interval. */
  readonly size: number;
  /** Drops the stored updates of the messages whose key matches: their conversation is deleted. */
  drop(matches: (key: string) => boolean): void;
  /** Drops the stored updates. */
  close(): void;
}

interface MessageState<M> {
  editedAt: number;
  stored: { readonly message: M } | undefined;
  inProgress: Promise<unknown> | undefined;
  cancelTimer: Release | undefined;
  isFinishing: boolean;
}

/**
 * Creates a throttle for edits, for networks that limit the rate of edits.
 *
 * @example
 * import { createEditThrottle } from "doorward/plugins/channels";
 * import type { Scope } from "doorward";
 * async function start({ clock, after, log }: Scope<{}>) {
 *   const throttle = createEditThrottle({
 *     clock,
 *     after,
 *     edit: async (id, text: string) => console.log(id, text),
 *     failed: (id, err) => log.warn({ id, err }, "an update was not sent"),
 *   });
 *   await throttle.update("7", "one");
 *   await throttle.update("7", "one two"); // stored
 *   await throttle.finish("7", "one two three"); // sent immediately; "one two" is dropped
 * }
 */
export function createEditThrottle<M, R>(options: EditThrottleOptions<M, R>): EditThrottle<M, R> {
  return new Throttle(options);
}

class Throttle<M, R> implements EditThrottle<M, R> {
  private readonly options: EditThrottleOptions<M, R>;
  private readonly intervalMs: number;
  private readonly messages = new Map<string, MessageState<M>>();

  constructor(options: EditThrottleOptions<M, R>) {
    this.options = options;
    this.intervalMs = options.intervalMs ?? 1_000;
  }

  get size(): number {
    return this.messages.size;
  }

  sent(key: string): void {
    const state = this.open(key);
    state.editedAt = this.options.clock.monotonic();
    this.schedule(key, state);
  }

  update(key: string, message: M): Promise<R> | undefined {
    const state = this.open(key);
    if (state.isFinishing) return undefined;
    if (!state.inProgress && this.waitOf(state) <= 0) return this.edit(key, state, message);
    state.stored = { message };
    this.schedule(key, state);
    return undefined;
  }

  async finish(key: string, message: M): Promise<R> {
    const state = this.open(key);
    const before = state.inProgress;
    state.isFinishing = true;
    state.stored = undefined;
    state.cancelTimer?.();
    const last = Promise.resolve(before)
      .catch(() => undefined)
      .then(() => this.callEdit(key, message));
    state.inProgress = last;
    try {
      return await last;
    } finally {
      if (state.inProgress === last) this.messages.delete(key);
    }
  }

  drop(matches: (key: string) => boolean): void {
    for (const [key, state] of this.messages) if (matches(key)) state.stored = undefined;
  }

  close(): void {
    for (const { cancelTimer } of this.messages.values()) cancelTimer?.();
    this.messages.clear();
  }

  private open(key: string): MessageState<M> {
    const known = this.messages.get(key);
    if (known) return known;
    const state: MessageState<M> = {
      editedAt: -Infinity,
      stored: undefined,
      inProgress: undefined,
      cancelTimer: undefined,
      isFinishing: false,
    };
    this.messages.set(key, state);
    return state;
  }

  private waitOf({ editedAt }: MessageState<M>): number {
    return editedAt + this.intervalMs - this.options.clock.monotonic();
  }

  private async edit(key: string, state: MessageState<M>, message: M): Promise<R> {
    state.stored = undefined;
    state.cancelTimer?.();
    state.cancelTimer = undefined;
    state.editedAt = this.options.clock.monotonic();
    const current = this.callEdit(key, message);
    state.inProgress = current;
    try {
      return await current;
    } finally {
      if (state.inProgress === current) {
        state.inProgress = undefined;
        this.schedule(key, state);
      }
    }
  }

  /** Rejects and never throws. */
  private async callEdit(key: string, message: M): Promise<R> {
    return this.options.edit(key, message);
  }

  /** Looks at the message again when its interval has passed; forgets it if nothing is stored. */
  private schedule(key: string, state: MessageState<M>): void {
    if (state.inProgress || this.messages.get(key) !== state) return;
    state.cancelTimer?.();
    state.cancelTimer = this.options.after(Math.max(0, this.waitOf(state)), () => {
      state.cancelTimer = undefined;
      const { stored } = state;
      if (!stored) return void this.messages.delete(key);
      this.edit(key, state, stored.message).catch((error: unknown) =>
        this.options.failed(key, error),
      );
    });
  }
}
