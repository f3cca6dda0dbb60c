// Gathers the writes of one turn of the event loop and stores them as one batch.
import { codeOf } from "../../../kernel/index.ts";
import { conversationsErrors } from "../errors.ts";
import type { Batch, ConversationStorage } from "./storage.ts";

const maxWaiting = 10_000;
const maxWaitingBytes = 16 * 1024 * 1024;

/** A batch while it is put together. */
export type BatchDraft = { readonly [K in keyof Batch]: Batch[K][number][] };

/** A part of a batch. Its outcome is reported in the order of the calls. */
interface Write {
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

/** One batch is on its way; the next one gathers until its outcome is known. */
export class BatchWriter {
  private readonly options: BatchWriterOptions;
  private queue: Write[] = [];
  private waiting = 0;
  private bytes = 0;
  private isScheduled = false;
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
    this.schedule();
  }

  /** Sends the next batch at the end of this turn, or after the one that is on its way. */
  schedule(): void {
    if (this.isScheduled || this.commit) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      this.send();
    });
  }

  /** Resolves when nothing waits, also if the last batches failed. */
  async flush(): Promise<void> {
    this.send();
    while (this.commit) {
      await this.commit;
      this.send();
    }
  }

  private send(): void {
    if (this.commit) return;
    const writes = this.queue;
    this.queue = [];
    const draft: BatchDraft = { streams: [], entries: [], taken: [], positions: [] };
    for (const write of writes) write.addTo(draft);
    const restorePositions = this.options.addPositions(draft);
    if (isEmpty(draft)) return this.settle(writes, (write) => write.committed());
    this.commit = this.store(draft, writes, restorePositions);
  }

  private async store(
    draft: BatchDraft,
    writes: readonly Write[],
    restorePositions: () => void,
  ): Promise<void> {
    let failure: { readonly error: unknown } | undefined;
    try {
      await this.options.storage.commit(draft);
    } catch (error) {
      failure = { error: toStoreError(error) };
      this.options.failed(error);
      restorePositions();
    }
    this.commit = undefined;
    this.settle(writes, (write) => (failure ? write.failed(failure.error) : write.committed()));
    if (this.queue.length > 0) this.schedule();
  }

  private settle(writes: readonly Write[], report: (write: Write) => void): void {
    for (const write of writes) {
      this.waiting -= 1;
      this.bytes -= write.bytes;
      try {
        report(write);
      } catch (error) {
        this.options.failed(error);
      }
    }
  }
}
