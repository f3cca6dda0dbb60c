/** The list of conversations: pages, search, titles, deletion with undo, unread marks. @module */
import { computed, signal, type Signal } from "@preact/signals";
import type {
  ConversationsView,
  ConversationSummary,
  SearchHit,
  SearchView,
} from "../../../api/conversation-views.ts";
import { sendRequest, type ApiError } from "../../live/api.ts";
import { base } from "../../live/base.ts";
import { load, requestAsOwner } from "../../live/owner.ts";
import { addUnknown, countUnread, loadSeen, markRead, saveSeen, type Seen } from "./seen.ts";

const path = "/api/conversations";
/** Time for Undo, as long as the toast with the button. */
const undoMs = 8_000;

/** The list on the page. */
export class ConversationList {
  private readonly known: Signal<readonly ConversationSummary[]>;
  private readonly removed = signal<ReadonlySet<string>>(new Set());
  private readonly store: Signal<ConversationsView["store"] | undefined>;
  private readonly next: Signal<string | undefined>;
  private readonly found = signal<readonly SearchHit[]>([]);
  /** True if the server has no store with a list. */
  private readonly isOff = signal(false);
  private readonly marks: Signal<Seen>;

  constructor(initial: ConversationsView | undefined) {
    this.known = signal(initial?.conversations ?? []);
    this.store = signal(initial?.store);
    this.next = signal(initial?.before);
    this.marks = signal(addUnknown(loadSeen(), this.known.value));
  }

  /** The latest used first, without those that were deleted. */
  readonly items = computed(() =>
    this.known.value
      .filter(({ id }) => !this.removed.value.has(id))
      .toSorted((a, b) => b.usedAt - a.usedAt),
  );
  readonly hits = computed(() =>
    this.found.value.filter(({ conversation: { id } }) => !this.removed.value.has(id)),
  );
  /** True if the server keeps conversations. Undefined until it is known. */
  readonly isStored = computed(() =>
    this.isOff.value ? false : this.store.value && this.store.value.kind !== "memory",
  );
  readonly searches = computed(() => this.store.value?.searches === true);
  readonly hasMore = computed(() => this.next.value !== undefined);
  readonly seen = computed(() => this.marks.value);
  /** Number of conversations with unread messages. */
  readonly unread = computed(
    () => this.items.value.filter((one) => countUnread(this.marks.value, one) > 0).length,
  );

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
    this.mark(addUnknown(this.marks.value, conversations));
  }

  /** Searches the text of messages. Empty words remove the results. */
  async search(words: string): Promise<void> {
    if (words === "") {
      this.found.value = [];
      return;
    }
    const query = new URLSearchParams({ q: words.slice(0, 200) });
    await load<SearchView>(`${path}/search?${query}`, ({ hits }) => {
      this.found.value = hits;
    });
  }

  /** Shows a changed conversation. */
  update(conversation: ConversationSummary): void {
    this.known.value = this.known.value.map((one) =>
      one.id === conversation.id ? { ...one, ...conversation } : one,
    );
  }

  /**
   * Hides a conversation now and deletes it when the time for Undo is over.
   *
   * @param failed - Runs if the server does not delete it; the conversation is shown again.
   * @returns Shows it again instead.
   */
  remove(id: string, failed: (error: ApiError) => void): () => void {
    this.hide(id, true);
    const leave = (): void => {
      clearTimeout(timer);
      // The page may end before a response; `keepalive` lets the request finish.
      void fetch(`${base()}${path}/${id}`, { method: "DELETE", keepalive: true });
    };
    const timer = setTimeout(async () => {
      removeEventListener("pagehide", leave);
      const answer = await sendRequest("DELETE", `${path}/${id}`);
      if ("error" in answer && answer.error.status !== 404) {
        this.hide(id, false);
        failed(answer.error);
      } else this.known.value = this.known.value.filter((one) => one.id !== id);
    }, undoMs);
    addEventListener("pagehide", leave, { once: true });
    return () => {
      clearTimeout(timer);
      removeEventListener("pagehide", leave);
      this.hide(id, false);
    };
  }

  read(id: string): void {
    const summary = this.known.value.find((one) => one.id === id);
    if (summary) this.mark(markRead(this.marks.peek(), summary));
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
    this.mark(addUnknown(this.marks.value, conversations));
  }

  private mark(changed: Seen): void {
    if (changed !== this.marks.peek()) saveSeen((this.marks.value = changed));
  }

  private hide(id: string, isHidden: boolean): void {
    const changed = new Set(this.removed.value);
    if (isHidden) changed.add(id);
    else changed.delete(id);
    this.removed.value = changed;
  }
}
