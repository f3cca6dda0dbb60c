/** Pinned and archived conversations of this browser. @module */
import { storageKeys } from "./forget.ts";

/** The conversations with a flag, by id. */
export interface Flags {
  readonly pinned: readonly string[];
  /** Unix milliseconds of their last use when they were archived. A later use brings them back. */
  readonly archived: Readonly<Record<string, number>>;
}

interface Used {
  readonly id: string;
  readonly usedAt: number;
}

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
  try {
    const { pinned, archived } = JSON.parse(localStorage.getItem(key) ?? "{}") as Partial<Flags>;
    const isTime = ([, at]: [string, unknown]): boolean => typeof at === "number";
    return {
      pinned: Array.isArray(pinned) ? pinned.filter((id) => typeof id === "string") : [],
      archived: Object.fromEntries(Object.entries(archived ?? {}).filter(isTime)),
    };
  } catch {
    return { pinned: [], archived: {} };
  }
}

export function saveFlags(flags: Flags): void {
  try {
    localStorage.setItem(key, JSON.stringify(flags));
  } catch {
    // Without local storage, flags last until the page is left.
  }
}
