/** Flags of conversations: pinned and archived, for all devices and nodes. @module */
import { codeOf } from "../../../../kernel/index.ts";
import type { Conversations, ConversationSummary, Page } from "../../../conversations/index.ts";
import type { OpenRecords, RecordChange, Records } from "../../../records/index.ts";
import { refuse } from "../errors.ts";
import type { ConversationSummary as Flagged, FlagName } from "../../shared/conversation-views.ts";

/** The flags of one conversation, as they are stored. */
interface StoredFlags {
  /** Unix milliseconds since when it is pinned. */
  readonly pinned?: number;
  /** Its latest use when it was archived, in Unix milliseconds. A later one brings it back. */
  readonly archived?: number;
}

/** A change of the flags. Flags that it does not name stay. */
interface FlagChange {
  readonly pinned?: boolean | undefined;
  /** The latest use that the person has seen, or false. */
  readonly archived?: number | false | undefined;
}

type Known = ReadonlyMap<string, StoredFlags>;
type Named = Pick<ConversationSummary, "id" | "channel" | "session" | "usedAt">;

function changed(flags: StoredFlags, change: FlagChange, now: number): StoredFlags {
  const { pinned = flags.pinned, archived = flags.archived } = change;
  // An archived conversation is not at the top of the list.
  const isPinned = pinned !== undefined && pinned !== false && typeof change.archived !== "number";
  return {
    ...(isPinned && { pinned: pinned === true ? now : pinned }),
    ...(typeof archived === "number" && { archived }),
  };
}

/** Keeps a record for each conversation with a flag. It goes with its conversation. */
export class ConversationFlags {
  private readonly records: Records<StoredFlags>;
  private readonly now: () => number;
  /** Read once, until a record changes. */
  private known: Promise<Known> | undefined;

  constructor(open: OpenRecords, now: () => number) {
    this.records = open<StoredFlags>("flags");
    this.now = now;
  }

  /** @param changed - Receives the id of a conversation whose flags a person has changed. */
  readonly watch = (changed: (id: string) => void) =>
    this.records.watch(({ key }: RecordChange<StoredFlags>) => {
      this.known = undefined;
      changed(key);
    });

  /** Adds the flags to conversations. */
  async addTo(conversations: readonly ConversationSummary[]): Promise<readonly Flagged[]> {
    const known = await this.read();
    return conversations.map((one) => {
      const { pinned, archived = -1 } = known.get(one.id) ?? {};
      return {
        ...one,
        ...(pinned !== undefined && { pinned: true }),
        ...(archived >= one.usedAt && { archived: true }),
      };
    });
  }

  /** Changes the flags. Changes of two devices to different flags are both kept. */
  async set({ id, channel, session }: Named, change: FlagChange): Promise<void> {
    for (;;) {
      const stored = await this.records.get(id);
      const value = changed(stored?.value ?? {}, change, this.now());
      const version = stored?.version ?? 0;
      try {
        if (Object.keys(value).length > 0)
          await this.records.put(id, value, { version, session: { channel, session } });
        else if (stored) await this.records.remove(id, { version });
        break;
      } catch (error) {
        if (codeOf(error) === "records_full")
          throw refuse("not_supported", {
            message: "10,000 conversations have flags. Unpin or delete some of them.",
          });
        if (codeOf(error) !== "record_conflict") throw error;
      }
    }
    this.known = undefined;
  }

  /** Lists the conversations with a flag, the latest flagged first. */
  async list(
    store: Conversations,
    flag: FlagName,
    { before, limit = 50 }: { readonly before?: string; readonly limit?: number },
  ): Promise<Page<Flagged>> {
    const all = [...(await this.read())]
      .flatMap(([id, { [flag]: at }]) => (at === undefined ? [] : [{ id, at }]))
      .toSorted((a, b) => b.at - a.at || (a.id < b.id ? -1 : 1));
    const [, at, last] = /^(\d{1,15})-([\w-]{1,64})$/.exec(before ?? "") ?? [];
    if (before !== undefined && last === undefined)
      throw refuse("invalid_request", { message: "before: expected the cursor of a page." });
    const isAfter = (one: { readonly id: string; readonly at: number }): boolean =>
      last === undefined || one.at < Number(at) || (one.at === Number(at) && one.id > last);
    const rest = all.filter(isAfter);
    const page = rest.slice(0, limit);
    const { items } = await store.list({ ids: page.map(({ id }) => id) });
    const flagged = (await this.addTo(items)).filter((one) => one[flag]);
    const end = page.at(-1);
    return rest.length > page.length && end
      ? { items: flagged, before: `${end.at}-${end.id}` }
      : { items: flagged };
  }

  private read(): Promise<Known> {
    const reading = (this.known ??= this.records
      .list()
      .then((list) => new Map(list.map(({ key, value }) => [key, value]))));
    reading.catch(() => {
      if (this.known === reading) this.known = undefined;
    });
    return reading;
  }
}
