/** Pinned and archived conversations of this browser. @module */
import type { ConversationSummary } from "../../../shared/conversation-views.ts";
import { entriesOf, keep, readStored, storageKeys } from "../../live/storage.ts";

/** The conversations with a flag, by id. */
export interface Flags {
  readonly pinned: readonly string[];
  /** Unix milliseconds of their last use when they were archived. A later use brings them back. */
  readonly archived: Readonly<Record<string, number>>;
}

type Used = Pick<ConversationSummary, "id" | "usedAt">;

const key = storageKeys.flags;
/** The oldest flags are forgotten. */
const maxFlags = 500;

export const isArchived = ({ archived }: Flags, { id, usedAt }: Used): boolean =>
  (archived[id] ?? -1) >= usedAt;

/** Pins a conversation, or takes its pin away. */
export function togglePin(flags: Flags, id: string): Flags {
  const { pinned } = flags;
  const others = pinned.filter((one) => one !== id);
  const next = pinned.includes(id) ? others : [...others.slice(1 - maxFlags), id];
  return { ...flags, pinned: next };
}

/** Archives a conversation, or brings it back. */
export function toggleArchived(flags: Flags, used: Used): Flags {
  const { [used.id]: _, ...others } = flags.archived;
  if (isArchived(flags, used)) return { ...flags, archived: others };
  const kept = Object.entries(others).slice(1 - maxFlags);
  const archived = Object.fromEntries([...kept, [used.id, used.usedAt]]);
  return { pinned: flags.pinned.filter((id) => id !== used.id), archived };
}

export function loadFlags(): Flags {
  const { pinned, archived } = (readStored(key) ?? {}) as Readonly<Record<string, unknown>>;
  return {
    pinned: Array.isArray(pinned) ? pinned.filter((id) => typeof id === "string") : [],
    archived: entriesOf<number>(archived, "number"),
  };
}

export const saveFlags = (flags: Flags): void => keep(key, flags);
