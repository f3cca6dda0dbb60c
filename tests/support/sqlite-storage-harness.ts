// Opens SQLite storages in temporary folders, and closes them after the test.
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { createCapturedLog } from "../../kernel/testing.ts";
import type { Address } from "../../plugins/channels/index.ts";
import {
  openSqliteStorage,
  type SqliteStorageOptions,
} from "../../plugins/conversations/stores/sqlite/index.ts";
import type {
  Batch,
  ConversationStorage,
  NewEntry,
} from "../../plugins/conversations/stores/storage.ts";

const folder = "plugins/conversations/stores/sqlite";
const root = fileURLToPath(new URL("../..", import.meta.url));
const newest = (path: string): number =>
  Math.max(
    ...readdirSync(join(root, path)).map((name) => statSync(join(root, path, name)).mtimeMs),
  );

/** The worker runs from `dist`, because Node 20 cannot run TypeScript. */
function assertBuilt(): void {
  try {
    if (newest(join("dist", folder)) >= newest(folder)) return;
  } catch {
    // There is no build.
  }
  throw new Error("dist/ is missing or older than the sources of the store. Run: npm run build");
}

/** Creates a folder that is removed after the test. */
export function createFolder(): string {
  const path = mkdtempSync(join(tmpdir(), "doorward-store-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export const systemClock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout: (run: () => void, ms: number) => setTimeout(run, ms),
  clearTimeout: (id: unknown) => clearTimeout(id as NodeJS.Timeout),
};

/** Opens a storage, by default in a new folder. It is closed after the test. */
export async function openStorage(
  options: Partial<SqliteStorageOptions> = {},
): Promise<ConversationStorage> {
  assertBuilt();
  const storage = await openSqliteStorage({
    path: join(options.path ?? createFolder(), "conversations.db"),
    clock: systemClock,
    log: createCapturedLog().log,
    random: (bytes) => randomBytes(bytes),
    lockWaitMs: 0,
    ...withoutPath(options),
  });
  onTestFinished(() => storage.close().catch(() => {}));
  return storage;
}

const withoutPath = ({ path: _, ...options }: Partial<SqliteStorageOptions>) => options;

export const emptyBatch: Batch = { streams: [], entries: [], taken: [], positions: [] };
export const address: Address = { channel: "pico", session: "s" };
export const epoch = "0123456789abcdef";

/** Creates an entry whose frame has the form of a Pico server frame. */
export function entry(
  seq: number,
  op: NewEntry["op"],
  message: string | undefined,
  content = "",
  more: Partial<NewEntry> & { readonly payload?: object } = {},
): NewEntry {
  const { payload, ...rest } = more;
  const type = `message.${op}`;
  const frame = { type, payload: { message_id: message, content, ...payload } };
  return {
    ...address,
    seq,
    op,
    message,
    final: true,
    at: 1_000 + seq,
    frame: new TextEncoder().encode(JSON.stringify(frame)),
    ...rest,
  };
}

/** Writes entries of one session, which begins if it is new. */
export async function write(
  storage: ConversationStorage,
  entries: readonly NewEntry[],
  streams: Batch["streams"] = [],
): Promise<void> {
  await storage.commit({ ...emptyBatch, streams, entries });
}

/** Begins the session `s` with these entries. @returns The id of its conversation. */
export async function begin(
  storage: ConversationStorage,
  ...entries: readonly NewEntry[]
): Promise<string> {
  await write(storage, entries, [{ ...address, epoch, seq: 0 }]);
  return (await storage.find(address))!.id;
}

/** Begins a session with one turn. @returns The id of its conversation. */
export async function say(
  storage: ConversationStorage,
  session: string,
  text: string,
  at = 1_000,
): Promise<string> {
  const own = { channel: "pico", session };
  await write(storage, [entry(1, "user", "u", text, { session, at })], [{ ...own, epoch, seq: 0 }]);
  return (await storage.find(own))!.id;
}
