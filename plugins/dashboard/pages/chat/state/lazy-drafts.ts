/** Opens the drafts of this browser when the first one is needed. @module */
import { emptyDraft, type DraftStore } from "./draft.ts";
import { storageKeys } from "./forget.ts";

const key = storageKeys.drafts;

/** Texts of pages that were left before the database had them, by session. */
function leftTexts(): Record<string, string> {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(key) ?? "{}");
    if (typeof stored !== "object" || stored === null) return {};
    const entries = Object.entries(stored).filter(([, text]) => typeof text === "string");
    return Object.fromEntries(entries) as Record<string, string>;
  } catch {
    return {};
  }
}

function keepText(session: string, text: string | undefined): void {
  const { [session]: _, ...others } = leftTexts();
  try {
    const texts = { ...others, ...(text !== undefined && { [session]: text }) };
    if (Object.keys(texts).length === 0) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(texts));
  } catch {
    // Without local storage, the last words before leaving are lost.
  }
}

export function lazyDrafts(): DraftStore {
  let store: Promise<DraftStore> | undefined;
  const open = (): Promise<DraftStore | undefined> => {
    store ??= import("./drafts.ts").then(({ openDrafts }) => openDrafts(globalThis.indexedDB));
    return store.catch(() => {
      store = undefined; // The server may be away for a moment.
      return undefined;
    });
  };
  const save: DraftStore["save"] = async (session, draft) => {
    const opened = await open();
    await opened?.save(session, draft);
    if (opened && leftTexts()[session] === draft.text) keepText(session, undefined);
  };
  return {
    async load(session) {
      const text = leftTexts()[session];
      const stored = (await (await open())?.load(session)) ?? emptyDraft;
      if (text === undefined) return stored;
      const draft = { ...stored, text };
      void save(session, draft);
      return draft;
    },
    save,
    keep: keepText,
  };
}
