/** The list of conversations: pages, titles, unread marks. @module */
import { computed, signal, type Signal } from "@preact/signals";
import type { ConversationsView, ConversationSummary } from "../../../shared/conversation-views.ts";
import type { ApiError } from "../../live/api.ts";
import { load, requestAsOwner } from "../../live/owner.ts";
import {
  isArchived,
  loadFlags,
  saveFlags,
  toggleArchived,
  togglePin,
  type Flags,
} from "./flags.ts";
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
  readonly flags = signal<Flags>(loadFlags());

  constructor(initial: ConversationsView | undefined) {
    this.known = signal(initial?.conversations ?? []);
    this.store = signal(initial?.store);
    this.next = signal(initial?.before);
    this.seen = signal(addUnknown(loadSeen(), this.known.value));
  }

  /** The latest used first, without those that were deleted. */
  readonly items = computed(() =>
    this.known.value
      .filter(({ id }) => !this.removed.value.has(id))
      .toSorted((a, b) => b.usedAt - a.usedAt),
  );
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
    this.flags.value = loadFlags();
    this.seen.value = addUnknown(loadSeen(), this.known.value);
  }

  togglePin(id: string): void {
    saveFlags((this.flags.value = togglePin(this.flags.value, id)));
  }

  /** @returns True if it is archived now. */
  toggleArchived(id: string): boolean {
    const summary = this.known.value.find((one) => one.id === id);
    if (!summary) return false;
    saveFlags((this.flags.value = toggleArchived(this.flags.value, summary)));
    return isArchived(this.flags.value, summary);
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
    this.known.value = this.known.value.map((one) =>
      one.id === conversation.id ? { ...one, ...conversation } : one,
    );
  }

  /** True for conversations whose deletion can be undone. */
  isHidden(id: string): boolean {
    return this.removed.value.has(id);
  }

  read(id: string): void {
    const summary = this.known.value.find((one) => one.id === id);
    if (summary) this.mark(markRead(this.seen.peek(), summary));
  }

  /** Replaces the first page and keeps older conversations that were loaded. */
  private show({ conversations, before, store }: ConversationsView): void {
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
