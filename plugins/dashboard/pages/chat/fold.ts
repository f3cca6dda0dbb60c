/** The rows of the list. Conversations that continue one another are folded into one. @module */
import type { ConversationSummary } from "../../shared/conversation-views.ts";
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

/** Names that the OpenAI protocol gives: `ROOT`, and `ROOT~RANDOM` for those that continue it. The
 *  names of the protocol and of a person may precede them. */
const rootPattern = /^((?:.*\/)?[0-9a-f]{32})(?:~[0-9a-f]{16})?$/;

/** One entry: a conversation, or the newest of several. */
export interface ListEntry {
  readonly row: ListRow;
  /** All conversations of the entry, the newest first. One in most entries. */
  readonly rows: readonly ListRow[];
}

/** @param rows - The newest first. */
export function foldRows(rows: readonly ListRow[]): readonly ListEntry[] {
  const entries = new Map<string, ListRow[]>();
  for (const row of rows) {
    const [, root] = (row.channel === "pico" && rootPattern.exec(row.session)) || [];
    const key = root ?? `${row.channel} ${row.session}`;
    const known = entries.get(key);
    if (known) known.push(row);
    else entries.set(key, [row]);
  }
  return [...entries.values()].map((found) => ({ row: toHead(found), rows: found }));
}

/** The newest conversation, with the title of the first one. */
function toHead(rows: readonly ListRow[]): ListRow {
  const [newest] = rows;
  const unread = rows.reduce((sum, row) => sum + row.unread, 0);
  return { ...newest!, title: rows.at(-1)!.title, unread };
}
