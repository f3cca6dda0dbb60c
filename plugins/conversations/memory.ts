// Conversations in the memory of this process: they end with it.
import type { Clock, Release } from "../../kernel/index.ts";
import { conversationsErrors } from "./errors.ts";
import { MemorySessionLog } from "./log/memory-session-log.ts";
import { createRecord } from "./log/session-record.ts";
import type { LogListeners, SessionLog } from "./log/session-log.ts";
import type {
  ConversationRecord,
  ConversationSummary,
  Conversations,
  Page,
  SearchHit,
  StoreHealth,
  Turn,
} from "./contract.ts";

interface MemoryConversationsOptions {
  readonly clock: Clock;
  readonly random: (bytes: number) => Uint8Array;
  readonly after: (ms: number, run: () => void) => Release;
  /** Why the conversations are not on disk, if that was not the choice of the owner. */
  readonly problem?: string | undefined;
}

/** Keeps streams as long as a process without the plugin does, and no history. */
export class MemoryConversations implements Conversations {
  private readonly options: MemoryConversationsOptions;
  private readonly logs: MemorySessionLog[] = [];
  private readonly startedAt: number;

  constructor(options: MemoryConversationsOptions) {
    this.options = options;
    this.startedAt = options.clock.now();
  }

  open(_: string, listeners: LogListeners): SessionLog {
    const { clock, random, after } = this.options;
    const log = new MemorySessionLog({
      random,
      after,
      now: () => clock.monotonic(),
      ...listeners,
    });
    this.logs.push(log);
    return log;
  }

  record(channel: string): ConversationRecord {
    return createRecord(this, channel, this.options.random);
  }

  health(): StoreHealth {
    const { problem } = this.options;
    return {
      ...(problem !== undefined && { problem }),
      kind: "memory",
      state: "up",
      since: this.startedAt,
      conversations: this.logs.reduce((sum, log) => sum + log.streamCount(), 0),
      waitingBytes: 0,
      searches: false,
    };
  }

  metrics(): undefined {
    return undefined;
  }

  async list(): Promise<Page<ConversationSummary>> {
    throw conversationsErrors.not_supported("list conversations", this.options.problem);
  }

  async find(): Promise<ConversationSummary | undefined> {
    return undefined;
  }

  async get(): Promise<ConversationSummary> {
    throw conversationsErrors.not_found();
  }

  async read(): Promise<Page<Turn>> {
    throw conversationsErrors.not_found();
  }

  async search(): Promise<readonly SearchHit[]> {
    throw conversationsErrors.not_supported("search", this.options.problem);
  }

  async rename(): Promise<void> {
    throw conversationsErrors.not_found();
  }

  async forget(): Promise<void> {
    throw conversationsErrors.not_found();
  }

  export(): AsyncIterable<string> {
    const next = (): Promise<never> => Promise.reject(conversationsErrors.not_found());
    return { [Symbol.asyncIterator]: () => ({ next }) };
  }
}
