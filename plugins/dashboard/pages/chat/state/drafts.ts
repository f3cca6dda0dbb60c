/** Keeps unsent messages of this browser for each conversation, with their files. @module */
import { entriesOf, keep, readStored } from "../../live/storage.ts";
import { databaseName, storageKeys } from "./forget.ts";
import type { ShownFile } from "./thread.ts";

/** A file of an unsent message. */
export interface DraftFile extends ShownFile {
  /** The content, for an upload. */
  readonly blob?: File;
  /** The session that has the file `id`. @defaultValue the present one */
  readonly session?: string;
}

/** An unsent message. */
export interface Draft {
  readonly text: string;
  readonly files: readonly DraftFile[];
}

/** Where drafts are kept. */
export interface DraftStore {
  load(session: string): Promise<Draft>;
  /** Keeps the draft; an empty one is removed. */
  save(session: string, draft: Draft): Promise<void>;
  /** Keeps the text now, because the page is being left: `save` might not finish. */
  keep?(session: string, text: string): void;
}

export const emptyDraft: Draft = { text: "", files: [] };

const storeName = "drafts";
/** Larger contents would fill the storage of the browser. They last until the page is left. */
const maxBlobBytes = 64 * 1024 * 1024;

/** The draft without the contents of files above a size. */
const withoutBlobs = (draft: Draft, above: number): Draft => ({
  ...draft,
  files: draft.files.map(({ blob, ...file }) =>
    blob && blob.size <= above ? { ...file, blob } : file,
  ),
});

const requestOf = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error ?? new Error("unavailable")));
  });

function openDatabase(factory: IDBFactory): Promise<IDBDatabase> {
  const request = factory.open(databaseName, 1);
  request.addEventListener("upgradeneeded", () => request.result.createObjectStore(storeName));
  // A sign-out deletes the database, also in other tabs.
  request.addEventListener("success", () =>
    request.result.addEventListener("versionchange", () => request.result.close()),
  );
  return requestOf(request);
}

/**
 * Opens the drafts. Without a database, as in some private windows, drafts last until the page is
 * left.
 */
function openDatabaseDrafts(factory: IDBFactory | undefined): DraftStore {
  const memory = new Map<string, Draft>();
  const database = factory
    ? openDatabase(factory).catch(() => undefined)
    : Promise.resolve(undefined);
  const use = async <T>(
    mode: IDBTransactionMode,
    act: (store: IDBObjectStore) => unknown,
  ): Promise<T | undefined> => {
    const opened = await database;
    try {
      return (
        opened &&
        (await requestOf(
          act(opened.transaction(storeName, mode).objectStore(storeName)) as IDBRequest<T>,
        ))
      );
    } catch {
      return undefined;
    }
  };
  return {
    async load(session) {
      const kept = memory.get(session);
      if (kept) return kept;
      const stored = await use<Draft | undefined>("readonly", (store) => store.get(session));
      return memory.get(session) ?? stored ?? emptyDraft;
    },
    async save(session, draft) {
      memory.set(session, draft);
      const isEmpty = draft.text === "" && draft.files.length === 0;
      if (isEmpty) return void (await use<unknown>("readwrite", (store) => store.delete(session)));
      const put = (above: number) =>
        use<unknown>("readwrite", (store) => store.put(withoutBlobs(draft, above), session));
      // Without room for the contents, the text is kept.
      if ((await put(maxBlobBytes)) === undefined) await put(-1);
    },
  };
}

const key = storageKeys.drafts;

/** Texts of pages that were left before the database had them, by session. */
const leftTexts = () => entriesOf<string>(readStored(key), "string");

function keepText(session: string, text: string | undefined): void {
  const { [session]: _, ...others } = leftTexts();
  const texts = { ...others, ...(text !== undefined && { [session]: text }) };
  keep(key, Object.keys(texts).length === 0 ? undefined : texts);
}

/** Opens the drafts of this browser when the first one is needed. */
export function openDrafts(): DraftStore {
  let opened: DraftStore | undefined;
  const open = (): DraftStore => (opened ??= openDatabaseDrafts(globalThis.indexedDB));
  const save: DraftStore["save"] = async (session, draft) => {
    await open().save(session, draft);
    if (leftTexts()[session] === draft.text) keepText(session, undefined);
  };
  return {
    async load(session) {
      const text = leftTexts()[session];
      const stored = await open().load(session);
      if (text === undefined) return stored;
      const draft = { ...stored, text };
      void save(session, draft);
      return draft;
    },
    save,
    keep: keepText,
  };
}
