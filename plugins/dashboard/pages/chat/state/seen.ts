/** How far this browser has read each conversation. @module */
import type { ConversationSummary } from "../../../shared/conversation-views.ts";
import { entriesOf, keep, readStored, storageKeys } from "../../live/storage.ts";

/** The number of messages that were read, by conversation id. */
export type Seen = Readonly<Record<string, number>>;

const key = storageKeys.seen;
/** The least recently used ones are forgotten, and count as read. */
const maxEntries = 500;

type Counted = Pick<ConversationSummary, "id" | "turns">;

/** Conversations that this browser does not know count as read, so the first visit shows none. */
export function addUnknown(seen: Seen, conversations: readonly Counted[]): Seen {
  const unknown = conversations.filter(({ id }) => seen[id] === undefined);
  if (unknown.length === 0) return seen;
  return { ...seen, ...Object.fromEntries(unknown.map(({ id, turns }) => [id, turns])) };
}

/** Moves the conversation to the end, as the most recently used. */
export function markRead(seen: Seen, { id, turns }: Counted): Seen {
  if (seen[id] === turns) return seen;
  const { [id]: _, ...others } = seen;
  return Object.fromEntries([...Object.entries(others).slice(1 - maxEntries), [id, turns]]);
}

/** @returns How many messages came since it was read. */
export const countUnread = (seen: Seen, { id, turns }: Counted): number =>
  Math.max(0, turns - (seen[id] ?? turns));

export const loadSeen = (): Seen => entriesOf<number>(readStored(key), "number");

/** Without local storage, everything counts as read after a reload. */
export const saveSeen = (seen: Seen): void => keep(key, seen);
