/** Where the chat keeps data in this browser, and how it is deleted. @module */

/** Keys of the local storage: names of conversations, how far they were read, drafts, flags. */
export const storageKeys = {
  names: "doorward-conversations",
  seen: "doorward-seen",
  drafts: "doorward-drafts",
  flags: "doorward-flags",
} as const;

/** Name of the database with unsent messages. */
export const databaseName = "doorward-chat";

/** Deletes it at sign-out, so that the next user of this browser does not see it. */
export function forgetChat(): void {
  try {
    for (const key of Object.values(storageKeys)) localStorage.removeItem(key);
    indexedDB.deleteDatabase(databaseName);
  } catch {
    // Without storage, there is nothing to delete.
  }
}
