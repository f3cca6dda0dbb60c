// The sessions whose streams are in memory, and the calls that wait for streams to be loaded.
import type { Awaitable } from "../../../kernel/index.ts";
import type { TakenId } from "../service.ts";
import { toStoreError } from "./batch-writer.ts";
import type { StoredStream } from "./storage.ts";

/** A session whose stream is in memory, or is being loaded. */
export interface CachedSession {
  readonly session: string;
  /** The store has the stream. */
  isStored: boolean;
  /** The batch on its way to the store contains the beginning of the stream. */
  isBeginning: boolean;
  /** The last number of the stream, or of the batch on its way. */
  seq: number;
  /** Writes that are not stored yet, and the numbered entries among them. */
  writes: number;
  entries: number;
  hasNewPositions: boolean;
  /** Accepted ids as they were loaded, until they are read. */
  taken: readonly TakenId[] | undefined;
  /** Calls that wait until the stream is loaded; undefined after that. */
  calls: Call[] | undefined;
}

interface Call {
  run(): void;
  reject(error: unknown): void;
}

interface SessionCacheOptions {
  readonly load: (session: string) => Promise<StoredStream | undefined>;
  readonly restored: (session: string, stored: StoredStream) => void;
  /** True if the session has a stream in memory. */
  readonly isUsed: (session: string) => boolean;
}

/** A session enters the cache with its first call and leaves it with its stream. */
export class SessionCache {
  private readonly options: SessionCacheOptions;
  private readonly sessions = new Map<string, CachedSession>();

  constructor(options: SessionCacheOptions) {
    this.options = options;
  }

  get(session: string): CachedSession | undefined {
    return this.sessions.get(session);
  }

  has(session: string): boolean {
    return this.sessions.has(session);
  }

  delete(session: string): void {
    this.sessions.delete(session);
  }

  /** Runs a call now if the stream is in memory, otherwise when it is. Calls keep their order. */
  whenLoaded<T>(session: string, run: (cached: CachedSession) => Awaitable<T>): Awaitable<T> {
    const cached = this.sessions.get(session);
    if (cached && !cached.calls) return run(cached);
    return new Promise<T>((resolve, reject) => {
      const { calls } = cached ?? this.startLoad(session);
      calls!.push({ run: () => resolve(this.repeat(session, run)), reject });
    });
  }

  /**
   * Runs `task` while all other calls for the session wait, and removes the session from the cache
   * if the task removed its stream.
   */
  async exclusively(session: string, task: () => Promise<void>): Promise<void> {
    const cached = await this.whenLoaded(session, (loaded) => {
      loaded.calls = [];
      return loaded;
    });
    try {
      await task();
    } finally {
      this.runCalls(cached);
    }
  }

  /** The session may have left the cache while the call waited. Errors reject. */
  private async repeat<T>(
    session: string,
    run: (cached: CachedSession) => Awaitable<T>,
  ): Promise<T> {
    return this.whenLoaded(session, run);
  }

  private startLoad(session: string): CachedSession {
    const cached: CachedSession = {
      session,
      isStored: false,
      isBeginning: false,
      seq: 0,
      writes: 0,
      entries: 0,
      hasNewPositions: false,
      taken: undefined,
      calls: [],
    };
    this.sessions.set(session, cached);
    void this.load(cached);
    return cached;
  }

  private async load(cached: CachedSession): Promise<void> {
    const { session } = cached;
    try {
      const stored = await this.options.load(session);
      if (stored) this.options.restored(session, stored);
      cached.isStored = stored !== undefined;
      cached.seq = stored?.seq ?? 0;
      cached.taken = stored?.taken ?? [];
    } catch (error) {
      const calls = cached.calls ?? [];
      cached.calls = undefined;
      this.sessions.delete(session);
      const failure = toStoreError(error);
      for (const { reject } of calls) reject(failure);
      return;
    }
    this.runCalls(cached);
  }

  private runCalls(cached: CachedSession): void {
    const { session, calls = [] } = cached;
    cached.calls = undefined;
    for (const { run } of calls) run();
    if (this.options.isUsed(session) || this.sessions.get(session) !== cached) return;
    if (!cached.calls && cached.writes === 0) this.sessions.delete(session);
  }
}
