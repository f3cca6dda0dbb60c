/** The list of conversations: pages, titles, unread marks. @module */
import { computed, signal, type Signal } from "@preact/signals";
import type {
  ConversationsView,
  ConversationSummary,
  ConversationView,
  FlagName,
} from "../../../shared/conversation-views.ts";
import type { ApiError } from "../../live/api.ts";
import { load, requestAsOwner } from "../../live/owner.ts";
import { moveFlags } from "./flags.ts";
import { addUnknown, countUnread, loadSeen, markRead, saveSeen, type Seen } from "./seen.ts";

const path = "/api/conversations";

/** The list on the page. */
export class ConversationList {
  private readonly known: Signal<readonly ConversationSummary[]>;
  private readonly removed = signal<ReadonlySet<string>>(new Set());
  private readonly store: Signal<ConversationsView["store"] | undefined>;
  private readonly next: Signal<string | undefined>;
  /** True if the server has no store with a list. */
  private readonly isOff = signal(false);
  readonly seen: Signal<Seen>;
  /** Conversations with a flag or that were found, which may be older than those of the list. */
  private readonly older = signal<readonly ConversationSummary[]>([]);
  /** The next page of each flag; `null` after the last one. */
  private readonly nextFlagged: Partial<Record<FlagName, string | null>> = {};
  private readonly hasFlags: Signal<boolean>;

  constructor(initial: ConversationsView | undefined) {
    this.known = signal(initial?.conversations ?? []);
    this.store = signal(initial?.store);
    this.next = signal(initial?.before);
    this.hasFlags = signal(initial?.keepsFlags === true);
    this.seen = signal(addUnknown(loadSeen(), this.known.value));
  }

  private readonly byId = computed(
    () => new Map([...this.older.value, ...this.known.value].map((one) => [one.id, one])),
  );
  /** The latest used first, without those that were deleted. */
  readonly items = computed(() =>
    [...this.byId.value.values()]
      .filter(({ id }) => !this.removed.value.has(id))
      .toSorted((a, b) => b.usedAt - a.usedAt),
  );
  /** True if the server keeps flags. */
  readonly keepsFlags = computed(() => this.hasFlags.value);
  /** True if the server keeps conversations. Undefined until it is known. */
  readonly isStored = computed(() =>
    this.isOff.value ? false : this.store.value && this.store.value.kind !== "memory",
  );
  /** `none`: nothing is kept. A number: Unix milliseconds since when nothing can be stored. */
  readonly storage = computed((): "none" | "server" | "redis" | number => {
    if (this.isStored.value === false) return "none";
    const { kind, state, since = 0 } = this.store.value ?? {};
    if (state === "away") return since;
    return kind === "redis" ? "redis" : "server";
  });
  /** Deleted conversations of which something is left on the disk. */
  readonly removing = computed(() => this.store.value?.removing ?? 0);
  readonly searches = computed(() => this.store.value?.searches === true);
  /** Number of conversations with unread messages. */
  readonly unread = computed(
    () => this.items.value.filter((one) => countUnread(this.seen.value, one) > 0).length,
  );

  /** Another tab has changed what this browser keeps. Its next change must not undo that. */
  readStorage(): void {
    this.seen.value = addUnknown(loadSeen(), this.known.value);
  }

  /** True for a conversation with the flag. */
  has(flag: FlagName, id: string): boolean {
    return this.byId.value.get(id)?.[flag] === true;
  }

  /**
   * Sets or removes a flag, for all devices.
   *
   * @returns The error of the server, with which the conversation stays as it was.
   */
  async flag(id: string, flag: FlagName, isOn: boolean): Promise<ApiError | undefined> {
    const before = this.byId.value.get(id);
    if (!before) return undefined;
    const { pinned: _, archived: __, ...plain } = before;
    const pinned = flag === "pinned" ? isOn : before.pinned === true && !isOn;
    const archived = flag === "archived" ? isOn : before.archived;
    this.place({ ...plain, ...(pinned && { pinned }), ...(archived && { archived }) });
    const body = { [flag]: isOn, usedAt: before.usedAt };
    const path = `/api/conversations/${id}`;
    type Changed = Pick<ConversationView, "conversation">;
    const answer = await requestAsOwner<Changed>("PATCH", path, body);
    if ("error" in answer) this.place(before);
    else this.noteFlags(answer.body.conversation);
    return "error" in answer ? answer.error : undefined;
  }

  /** Loads the next conversations with a flag. */
  async loadFlagged(flag: FlagName): Promise<void> {
    const before = this.nextFlagged[flag];
    if (!this.hasFlags.value || before === null) return;
    const query = new URLSearchParams({ flag, limit: "200", ...(before && { before }) });
    await load<ConversationsView>(
      `${path}?${query}`,
      (view) => {
        this.nextFlagged[flag] = view.before ?? null;
        this.addOlder(view.conversations);
      },
      flag,
    );
  }

  /** Adds the conversations with these words in the title or the name, however old. */
  async findNames(words: string): Promise<void> {
    const query = new URLSearchParams({ query: words.slice(0, 200), limit: "50" });
    const show = (view: ConversationsView): void => this.addOlder(view.conversations);
    await load<ConversationsView>(`${path}?${query}`, show, "query");
  }

  /** The flags of a conversation have changed, on this page or another. */
  async readFlags(id: string): Promise<void> {
    const answer = await requestAsOwner<ConversationView>(
      "GET",
      `/api/conversations/${id}?limit=1`,
    );
    if (!("error" in answer)) return this.noteFlags(answer.body.conversation);
    if (answer.error.status === 404)
      this.older.value = this.older.value.filter((one) => one.id !== id);
  }

  /** Moves the flags of this browser to the server, then loads what is pinned. Call it again when
   *  events were missed. */
  async startFlags(): Promise<void> {
    if (!this.hasFlags.value) return;
    if (await moveFlags()) await this.refresh();
    for (const flag of Object.keys(this.nextFlagged) as FlagName[]) delete this.nextFlagged[flag];
    const known = this.older.value;
    await this.loadFlagged("pinned");
    if (this.nextFlagged.pinned !== undefined)
      this.older.value = this.older.value.filter((one) => !known.includes(one));
  }

  private noteFlags(conversation: ConversationSummary): void {
    const { pinned: _, archived: __, ...known } = this.byId.value.get(conversation.id) ?? {};
    this.place({ ...known, ...conversation });
  }

  /** Replaces a conversation, or adds one that is older than the list. */
  private place(conversation: ConversationSummary): void {
    const { id } = conversation;
    const put = (one: ConversationSummary) => (one.id === id ? conversation : one);
    if (this.known.value.some((one) => one.id === id)) this.known.value = this.known.value.map(put);
    else this.addOlder([conversation]);
  }

  private addOlder(conversations: readonly ConversationSummary[]): void {
    const ids = new Set(conversations.map(({ id }) => id));
    this.older.value = [...this.older.value.filter(({ id }) => !ids.has(id)), ...conversations];
    this.mark(addUnknown(this.seen.value, conversations));
  }

  async refresh(): Promise<ApiError | undefined> {
    const error = await load<ConversationsView>(path, (view) => this.show(view));
    // A store without a list has the same answer next time.
    if (error?.code !== "not_supported" && error?.status !== 404) return error;
    this.isOff.value = true;
    return undefined;
  }

  async loadMore(): Promise<void> {
    const before = this.next.value;
    if (before === undefined) return;
    const query = new URLSearchParams({ before });
    const answer = await requestAsOwner<ConversationsView>("GET", `${path}?${query}`);
    if ("error" in answer || this.next.value !== before) return;
    const ids = new Set(this.known.value.map(({ id }) => id));
    const { conversations } = answer.body;
    this.known.value = [...this.known.value, ...conversations.filter(({ id }) => !ids.has(id))];
    this.next.value = answer.body.before;
    this.mark(addUnknown(this.seen.value, conversations));
  }

  /** Shows a changed conversation. */
  update(conversation: ConversationSummary): void {
    const known = this.byId.value.get(conversation.id);
    if (known) this.place({ ...known, ...conversation });
  }

  /** True for conversations whose deletion can be undone. */
  isHidden(id: string): boolean {
    return this.removed.value.has(id);
  }

  read(id: string): void {
    const summary = this.byId.value.get(id);
    if (summary) this.mark(markRead(this.seen.peek(), summary));
  }

  /** Replaces the first page and keeps older conversations that were loaded. */
  private show({ conversations, before, store, keepsFlags }: ConversationsView): void {
    this.hasFlags.value = keepsFlags === true;
    const oldest = before === undefined ? -Infinity : conversations.at(-1)!.usedAt;
    const isFirst = this.known.value.length <= conversations.length;
    const ids = new Set(conversations.map(({ id }) => id));
    const older = this.known.value.filter(({ id, usedAt }) => usedAt < oldest && !ids.has(id));
    this.known.value = [...conversations, ...older];
    this.store.value = store;
    this.isOff.value = false;
    if (isFirst) this.next.value = before;
    this.mark(addUnknown(this.seen.value, conversations));
  }

  private mark(changed: Seen): void {
    if (changed !== this.seen.peek()) saveSeen((this.seen.value = changed));
  }

  /** Hides a conversation, also after its deletion, or shows it again. */
  hide(id: string, isHidden: boolean): void {
    const changed = new Set(this.removed.value);
    if (isHidden) changed.add(id);
    else changed.delete(id);
    this.removed.value = changed;
  }
}
