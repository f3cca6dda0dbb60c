// Conversations over a storage that can be slow or fail, with a stopped clock.
import { randomBytes } from "node:crypto";
import { SimulatedClock } from "xstate";
import { createCapturedLog } from "../../kernel/testing.ts";
import { conversationsErrors } from "../../plugins/conversations/index.ts";
import {
  StoredConversations,
  type StoredConversationsOptions,
} from "../../plugins/conversations/stores/stored.ts";
import type { Batch, ConversationStorage } from "../../plugins/conversations/stores/storage.ts";

/** Faults of a storage: after `hold`, operations wait; while `isAway` is true, they fail. */
export class Faults {
  isAway = false;
  loads = 0;
  readonly batches: Batch[] = [];
  private isCommitting = false;
  private waiting: (() => void)[] | undefined;

  hold(): void {
    this.waiting ??= [];
  }

  /** Lets the oldest waiting operation continue. */
  releaseOne(): void {
    this.waiting?.shift()?.();
  }

  release(): void {
    const { waiting } = this;
    this.waiting = undefined;
    for (const next of waiting ?? []) next();
  }

  wrap(storage: ConversationStorage): ConversationStorage {
    return {
      ...bind(storage),
      load: async (address) => {
        this.loads += 1;
        await this.pause();
        return storage.load(address);
      },
      commit: async (batch) => {
        if (this.isCommitting) throw new Error("Two batches are on their way");
        this.isCommitting = true;
        try {
          await this.pause();
          await storage.commit(batch);
          this.batches.push(batch);
        } finally {
          this.isCommitting = false;
        }
      },
    };
  }

  private async pause(): Promise<void> {
    const { waiting } = this;
    if (waiting) await new Promise<void>((resolve) => waiting.push(resolve));
    if (this.isAway) throw conversationsErrors.store_unavailable();
  }
}

/** The storage may be an instance of a class, whose methods a spread copy would lose. */
const bind = (storage: ConversationStorage): ConversationStorage => ({
  load: (address) => storage.load(address),
  commit: (batch) => storage.commit(batch),
  retain: (limits, isLive) => storage.retain(limits, isLive),
  health: () => storage.health(),
  close: () => storage.close(),
  list: (options) => storage.list(options),
  find: (address) => storage.find(address),
  get: (id) => storage.get(id),
  read: (id, options) => storage.read(id, options),
  search: (text, options) => storage.search(text, options),
  rename: (id, title) => storage.rename(id, title),
  forget: (id) => storage.forget(id),
  export: (id, format) => storage.export(id, format),
});

/** Lets everything that needs no other event happen. */
export async function settle(turns = 4): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
}

export function createConversations(
  storage: ConversationStorage,
  cache: StoredConversationsOptions["cache"] = {},
) {
  const clock = new SimulatedClock();
  const captured = createCapturedLog();
  const faults = new Faults();
  const conversations = new StoredConversations({
    storage: faults.wrap(storage),
    clock: {
      now: () => Date.now() + clock.now(),
      monotonic: () => clock.now(),
      setTimeout: (run, ms) => clock.setTimeout(run, ms),
      clearTimeout: (id) => clock.clearTimeout(id as number),
    },
    log: captured.log,
    random: (bytes) => randomBytes(bytes),
    after(ms, run) {
      const timer = clock.setTimeout(run, ms);
      return () => clock.clearTimeout(timer);
    },
    limits: () => ({ keepDays: 90, maxBytes: 1e9 }),
    cache,
  });
  const settled: string[] = [];
  const renewed: string[] = [];
  const idle: string[] = [];
  const log = conversations.open("pico", {
    onReceipt: (_, id, status, reason) =>
      void settled.push([id, status, reason].filter(Boolean).join(" ")),
    sessionActive: () => undefined,
    sessionIdle: (session) => void idle.push(session),
    renewed: (session) => void renewed.push(session),
  });
  const pass = async (ms: number): Promise<void> => {
    clock.increment(ms);
    await settle();
  };
  return { conversations, log, settled, renewed, idle, faults, lines: captured.lines, pass };
}
