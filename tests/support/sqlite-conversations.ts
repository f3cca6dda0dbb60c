// Opens the conversations of the plugin over SQLite files on a disk that can fail.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { SimulatedClock } from "xstate";
import { createCapturedLog } from "../../kernel/testing.ts";
import type { ConversationStore } from "../../plugins/conversations/index.ts";
import type { MemorySessionLogOptions } from "../../plugins/conversations/log/memory-session-log.ts";
import { SqliteConversations } from "../../plugins/conversations/sqlite/conversations.ts";
import { openSqliteStore } from "../../plugins/conversations/sqlite/index.ts";
import { createFolder, openStore, write, type Disk, type TestEntry } from "./sqlite-store.ts";

export const fileIn = (folder: string): string => join(folder, "conversations.db");

/** Creates a folder whose store has these entries. */
export async function createHistory(...entries: readonly TestEntry[]): Promise<string> {
  const folder = createFolder();
  const store = await openStore({ folder });
  await write(store, ...entries);
  await store.end();
  return folder;
}

type Cache = Pick<MemorySessionLogOptions, "window" | "bounds" | "retentionMs">;

/** Opens the store of a folder for the plugin, as `sqlite()` does, on this disk. */
export const storeIn = (folder: string, disk?: Disk, cache?: Cache): ConversationStore => ({
  async open(scope) {
    const { clock, log, random, limits } = scope;
    const { store, release } = await openSqliteStore({
      path: fileIn(folder),
      driver: disk?.driver,
      lockWaitMs: 0,
      ...{ clock, log, random, limits },
      changed: scope.changed,
    });
    return new SqliteConversations(store, scope, release, cache);
  },
});

/** Lets everything that needs no other event happen. */
export async function settle(turns = 4): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Opens the conversations of a folder, with the log of the channel `pico` and a stopped clock. */
export async function openConversations(folder: string, disk?: Disk, cache?: Cache) {
  const clock = new SimulatedClock();
  const started = Date.now();
  const { log: sink, lines } = createCapturedLog();
  const conversations = (await storeIn(folder, disk, cache).open({
    clock: {
      now: () => started + clock.now(),
      monotonic: () => clock.now(),
      setTimeout: (run, ms) => clock.setTimeout(run, ms),
      clearTimeout: (id) => clock.clearTimeout(id as number),
    },
    log: sink,
    random: (bytes) => randomBytes(bytes),
    after(ms, run) {
      const timer = clock.setTimeout(run, ms);
      return () => clock.clearTimeout(timer);
    },
    limits: () => ({ keepDays: 90, maxBytes: 1e9 }),
    changed: () => undefined,
    forgotten: () => undefined,
  })) as SqliteConversations;
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
  return { conversations, log, settled, renewed, idle, lines, pass };
}

export type OpenedConversations = Awaited<ReturnType<typeof openConversations>>;
