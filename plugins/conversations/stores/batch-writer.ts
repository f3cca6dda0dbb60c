// Gathers the writes of one turn of the event loop and stores them as one batch.
import { codeOf } from "../../../kernel/index.ts";
import { conversationsErrors } from "../errors.ts";
import type { Batch, ConversationStorage } from "./storage.ts";

const maxWaiting = 10_000;
const maxWaitingBytes = 16 * 1024 * 1024;
/** Outcomes that are reported in one turn of the event loop: some milliseconds. */
const outcomesPerTurn = 64;
/**
 * Writes after which a store that needs no time receives a batch. 800 waiting messages
 * survive several garbage collections, which took a third of the time of a message.
 */
const writesPerBatch = 32;

/** A batch while it is put together. */
export type BatchDraft = { readonly [K in keyof Batch]: Batch[K][number][] };

/** A part of a batch. Its outcome is reported in the order of the calls. */
export interface Write {
  readonly bytes: number;
  /** Adds this write to the batch that is sent next. */
  addTo(draft: BatchDraft): void;
  committed(): void;
  /** Nothing of the batch was stored. */
  failed(error: unknown): void;
}

interface BatchWriterOptions {
  readonly storage: Pick<ConversationStorage, "commit">;
  /**
   * Adds the positions that are due.
   *
   * @returns A function that is called if the batch was not stored.
   */
  readonly addPositions: (draft: BatchDraft) => () => void;
  /** A batch failed, or a callback of a write threw. */
  readonly failed: (error: unknown) => void;
}

const isEmpty = ({ streams, entries, taken, positions }: BatchDraft): boolean =>
  streams.length + entries.length + taken.length + positions.length === 0;

/** @returns The error itself if it has a code, otherwise `store_unavailable` with its cause. */
export function toStoreError(error: unknown): unknown {
  const isKnown = codeOf(error) !== "internal";
  return isKnown ? error : conversationsErrors.store_unavailable({ cause: error });
}

/** A batch whose outcome is known, and the writes that know it. */
interface Outcome {
  readonly writes: readonly Write[];
  /** Set if nothing was stored. */
  readonly failure: { readonly error: unknown } | undefined;
  reported: number;
}

const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** One batch is on its way; the next one gathers until its outcome is known. */
export class BatchWriter {
  private readonly options: BatchWriterOptions;
  private queue: Write[] = [];
  private readonly outcomes: Outcome[] = [];
  private waiting = 0;
  private bytes = 0;
  private isScheduled = false;
  /** True if the store needs no time, as far as it is known. */
  private isImmediate = false;
  /** True until all writes of a failed batch know it, because its numbers are used again. */
  private hasFailed = false;
  private commit: Promise<void> | undefined;

  constructor(options: BatchWriterOptions) {
    this.options = options;
  }

  get waitingBytes(): number {
    return this.bytes;
  }

  /** @throws store_busy if 10,000 writes or 16 MiB wait. */
  assertRoom(): void {
    if (this.waiting >= maxWaiting || this.bytes >= maxWaitingBytes)
      throw conversationsErrors.store_busy();
  }

  add(write: Write): void {
    this.queue.push(write);
    this.waiting += 1;
    this.bytes += write.bytes;
    if (this.isImmediate && this.queue.length === writesPerBatch) queueMicrotask(() => this.send());
    else this.schedule();
  }

  /** Sends the next batch at the end of this turn, or after the one that is on its way. */
  schedule(): void {
    if (this.isScheduled || this.commit || this.hasFailed) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      this.send();
    });
  }

  /** Resolves when nothing waits, also if the last batches failed. */
  async flush(): Promise<void> {
    this.send();
    while (this.waiting > 0 || this.commit) {
      await (this.commit ?? nextTurn());
      this.send();
    }
  }

  private send(): void {
    if (this.commit || this.hasFailed) return;
    const writes = this.queue;
    this.queue = [];
    const draft: BatchDraft = { streams: [], entries: [], taken: [], positions: [] };
    for (const write of writes) write.addTo(draft);
    const restorePositions = this.options.addPositions(draft);
    const stored = isEmpty(draft) ? undefined : this.options.storage.commit(draft);
    this.isImmediate = !(stored instanceof Promise);
    if (stored instanceof Promise) this.commit = this.wait(stored, writes, restorePositions);
    else this.finish({ writes, failure: undefined, reported: 0 });
  }

  private async wait(
    stored: Promise<void>,
    writes: readonly Write[],
    restorePositions: () => void,
  ): Promise<void> {
    let failure: { readonly error: unknown } | undefined;
    try {
      await stored;
    } catch (error) {
      failure = { error: toStoreError(error) };
      this.options.failed(error);
      restorePositions();
    }
    this.commit = undefined;
    this.finish({ writes, failure, reported: 0 });
  }

  private finish(outcome: Outcome): void {
    this.hasFailed = outcome.failure !== undefined;
    if (this.outcomes.push(outcome) === 1) this.report();
    if (this.queue.length > 0) this.schedule();
  }

  /** Reports outcomes in the order of the writes, with pauses for other work. */
  private report(): void {
    let left = outcomesPerTurn;
    for (let [outcome] = this.outcomes; outcome; [outcome] = this.outcomes) {
      const { writes, failure } = outcome;
      while (outcome.reported < writes.length) {
        if (left-- === 0) return void setImmediate(() => this.report());
        this.settle(writes[outcome.reported++]!, failure);
      }
      this.outcomes.shift();
      if (failure) this.hasFailed = false;
    }
    if (this.queue.length > 0) this.schedule();
  }

  private settle(write: Write, failure: Outcome["failure"]): void {
    this.waiting -= 1;
    this.bytes -= write.bytes;
    try {
      if (failure) write.failed(failure.error);
      else write.committed();
    } catch (error) {
      this.options.failed(error);
    }
  }
}
