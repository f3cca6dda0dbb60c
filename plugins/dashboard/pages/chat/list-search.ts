/** Searches the list of conversations. Loaded after the page. @module */
import { signal } from "@preact/signals";
import type {
  ConversationSummary,
  SearchHit,
  SearchView,
} from "../../shared/conversation-views.ts";
import { load } from "../live/owner.ts";
import type { ConversationList } from "./state/list.ts";
import type { ConversationTarget } from "./state/store.ts";

/** Content of a row. */
export interface ListRow extends ConversationTarget, Pick<ConversationSummary, "door" | "sender"> {
  readonly title: string;
  readonly text: string;
  /** Unix milliseconds; 0 if unknown. */
  readonly at: number;
  readonly unread: number;
  readonly isFailed: boolean;
  readonly isPinned?: boolean;
  readonly isArchived?: boolean;
  /** Message to show, in results of a search. */
  readonly seq?: number;
}

const hits = signal<readonly SearchHit[]>([]);

/** Searches the text of messages. Empty words remove the results. */
export async function search(words: string): Promise<void> {
  if (words === "") {
    hits.value = [];
    return;
  }
  const query = new URLSearchParams({ q: words.slice(0, 200) });
  await load<SearchView>(`/api/conversations/search?${query}`, (view) => {
    hits.value = view.hits;
  });
}

/** @returns The rows of a search: titles first, then messages. */
export function findRows(
  list: ConversationList,
  rows: readonly ListRow[],
  query: string,
): readonly ListRow[] {
  const words = query.toLowerCase();
  const titles = rows.filter(({ title }) => title.toLowerCase().includes(words));
  const shown = new Set(titles.map(({ id }) => id));
  const messages = hits.value
    .filter(({ conversation: { id } }) => !shown.has(id) && !list.isHidden(id))
    .map(({ conversation: { id, session, channel, title }, turn, excerpt }): ListRow => {
      const { at, seq } = turn;
      const row = { id, session, channel, text: excerpt, at, seq, unread: 0, isFailed: false };
      return { ...row, title: title || session };
    });
  return [...titles, ...messages];
}
