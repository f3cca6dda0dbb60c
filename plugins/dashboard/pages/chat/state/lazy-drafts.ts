/** Opens the drafts of this browser when the first one is needed. @module */
import { emptyDraft, type DraftStore } from "./draft.ts";

export function lazyDrafts(): DraftStore {
  let store: Promise<DraftStore> | undefined;
  const open = (): Promise<DraftStore | undefined> => {
    store ??= import("./drafts.ts").then(({ openDrafts }) => openDrafts(globalThis.indexedDB));
    return store.catch(() => {
      store = undefined; // The server may be away for a moment.
      return undefined;
    });
  };
  return {
    load: async (session) => (await open())?.load(session) ?? emptyDraft,
    save: async (session, draft) => (await open())?.save(session, draft),
  };
}
