/**
 * Keeps small data of plugins, channels and applications: `records(name)`.
 *
 * A plugin asks for the service, and opens the records of a name once, in `start`:
 *
 * ```ts
 * import type { Plugin } from "doorward";
 * import type { OpenRecords } from "doorward/plugins/records";
 *
 * const invites = (): Plugin<{ needs: { records: OpenRecords } }> => ({
 *   name: "invites",
 *   api: 1,
 *   needs: { records: true },
 *   start({ needs, onReady, onStop }) {
 *     const guests = needs.records<{ email: string; seen: number }>("guests");
 *     onStop(guests.watch(({ key, record }) => update(key, record?.value)));
 *     onReady(async () => {
 *       await guests.put("anna", { email: "anna@example.org", seen: 0 }, { version: 0 });
 *       const { value, version } = (await guests.get("anna"))!;
 *       // Rejects with `record_conflict` if another call was faster.
 *       await guests.put("anna", { ...value, seen: value.seen + 1 }, { version });
 *     });
 *   },
 * });
 * ```
 *
 * A record that names a session, as in `put(key, value, { session: { channel, session } })`, is
 * removed when its conversation is deleted. Each plugin has names of its own. A host calls
 * `kernel.services.records("guests")`.
 *
 * @module
 */
import { join } from "node:path";
import { viewOf, type Plugin } from "../../kernel/index.ts";
import type { Conversations } from "../conversations/contract.ts";
import { observeCalls } from "../../lib/observed-promise.ts";
import { Collection, assertName } from "./collection.ts";
import type { OpenRecords, Records, RecordSession, RecordStore } from "./contract.ts";
import { FileRecordStore } from "./file-store.ts";
import { RecordFolder } from "./folder.ts";
import { MemoryRecordStore } from "./memory-store.ts";

export { recordsErrors } from "./errors.ts";
export type {
  OpenRecords,
  PutOptions,
  RecordChange,
  Records,
  RecordSession,
  StoredRecord,
} from "./contract.ts";

/** The plugin's services. */
export type RecordsShape = {
  /** Tells which conversations are deleted; keeps the records if several nodes share a store. */
  uses: { conversations: Conversations };
  /** Opens the records of a name. */
  offers: { records: OpenRecords };
};

/** Options of {@link records}. */
export interface RecordsOptions {
  /**
   * Folder of the launcher: records are kept in `state/records` of it.
   *
   * @defaultValue records end with the process, unless several nodes share a store
   */
  readonly home?: string;
  /**
   * Milliseconds to wait for another process that stops and has the folder.
   *
   * @defaultValue `8_000`
   */
  readonly lockWaitMs?: number;
}

/** The owner of the records that a host opens: no plugin can have this name. */
const hostOwner = "_host";

/** Records that this process keeps itself. */
type OwnStore = RecordStore & { forget(address: RecordSession): Promise<void> };

/**
 * Creates the plugin that keeps records. List it after `conversations`, so that records end with
 * their conversations, and are shared by the nodes that share the conversations.
 *
 * @param options - The folder. Without it, records are in memory.
 * @example
 * import { createKernel } from "doorward";
 * import { records } from "doorward/plugins/records";
 * const kernel = createKernel([records({ home: "/var/lib/bot" })]);
 * await kernel.start();
 * const settings = kernel.services.records<{ theme: string }>("settings");
 * await settings.put("anna", { theme: "dark" });
 */
export function records({ home, lockWaitMs = 8_000 }: RecordsOptions = {}): Plugin<RecordsShape> {
  return {
    name: "records",
    api: 1,
    uses: { conversations: true },
    start({ uses, log, onStop }) {
      const folder =
        home === undefined
          ? undefined
          : new RecordFolder(join(home, "state", "records"), lockWaitMs);
      const shared = uses.conversations?.records;
      const own = new Map<string, OwnStore>();
      const opened = new Map<string, Records<unknown>>();
      const openOwn = (collection: string): OwnStore => {
        const existing = own.get(collection);
        if (existing) return existing;
        const store = folder
          ? new FileRecordStore({ path: folder.file(collection), folder, log })
          : new MemoryRecordStore();
        own.set(collection, store);
        return store;
      };
      const open = (owner: string, name: string): Records<unknown> => {
        assertName(name);
        const id = `${owner}.${name}`;
        const existing = opened.get(id);
        if (existing) return existing;
        const store = shared ? shared.open(id) : openOwn(id);
        const created = observeCalls(new Collection(name, store, log), observed, (call, err) =>
          log.error(
            { err, call, records: id },
            "a call of records has failed, and no code awaits it",
          ),
        );
        opened.set(id, created);
        return created;
      };
      const forget = async (addresses: readonly RecordSession[]): Promise<void> => {
        if (shared) return;
        // Also those of a plugin that has not opened them since the start.
        for (const collection of (await folder?.collections()) ?? []) openOwn(collection);
        for (const address of addresses)
          await Promise.all([...own.values()].map((store) => store.forget(address)));
      };
      uses.conversations?.beforeDeletion?.(forget);
      onStop(async () => {
        for (const store of own.values())
          if (store instanceof FileRecordStore) await store.settled();
        await folder?.leave();
      });
      const opener = (owner: string): OpenRecords =>
        (<T>(name: string) => open(owner, name) as Records<T>) as OpenRecords;
      return { records: Object.assign(opener(hostOwner), { [viewOf]: opener }) };
    },
  };
}

const observed = ["get", "list", "put", "remove"] as const;
