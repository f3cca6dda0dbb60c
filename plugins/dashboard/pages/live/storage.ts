/** Values that this browser keeps. Without storage, they last until the page is left. @module */

/** @returns Undefined without the value, without storage, or if something else wrote it. */
export function readStored(key: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}

/** True after a sign-out. A page saves its drafts when the user leaves it. */
let isForgotten = false;

/** Keeps a value; undefined removes it. */
export function keep(key: string, value: unknown): void {
  try {
    if (value === undefined || isForgotten) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // The browser denies storage, or it is full.
  }
}

/** @returns The entries of a stored object whose values are of a type. */
export function entriesOf<T extends string | number>(value: unknown, type: "string" | "number") {
  const entries = Object.entries(value ?? {}).filter(([, entry]) => typeof entry === type);
  return Object.fromEntries(entries) as Readonly<Record<string, T>>;
}

/** Keys of private values. The latest choices of the palette may have titles of conversations. */
export const storageKeys = {
  names: "doorward-conversations",
  seen: "doorward-seen",
  drafts: "doorward-drafts",
  flags: "doorward-flags",
  choices: "doorward-recent",
} as const;

/** Name of the database with unsent messages. */
export const databaseName = "doorward-chat";

/** Deletes private data at sign-out, so that the next user of this browser does not see it. */
export function forgetStored(): void {
  isForgotten = true;
  try {
    for (const key of Object.values(storageKeys)) localStorage.removeItem(key);
    indexedDB.deleteDatabase(databaseName);
  } catch {
    // Without storage, there is nothing to delete.
  }
}
