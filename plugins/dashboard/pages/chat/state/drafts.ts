/** Keeps unsent messages of this browser for each conversation, with their files. @module */
import { databaseName, entriesOf, keep, readStored, storageKeys } from "../../live/storage.ts";
import type { ShownFile, UserMessage } from "./thread.ts";

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

export const emptyDraft: Draft = { text: "", files: [] };

/** Puts a message before an unsent one. */
export const withMessage = (
  draft: Draft,
  { content, files }: Pick<UserMessage, "content" | "files">,
): Draft => ({
  text: [content, draft.text].filter(Boolean).join("\n\n"),
  files: [...files, ...draft.files],
});

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

function openDatabase(): Promise<IDBDatabase> {
  const request = indexedDB.open(databaseName, 1);
  request.addEventListener("upgradeneeded", () => request.result.createObjectStore(storeName));
  // A sign-out deletes the database, also in other tabs.
  request.addEventListener("success", () =>
    request.result.addEventListener("versionchange", () => request.result.close()),
  );
  return requestOf(request);
}

/** Drafts of this page. Without a database, as in some private windows, there are no others. */
const memory = new Map<string, Draft>();
/** Opened when the first draft is needed. */
let database: Promise<IDBDatabase | undefined> | undefined;

/** @returns Undefined without a database, without the draft, or without room for it. */
async function use(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest) {
  try {
    const opened = await (database ??= openDatabase().catch(() => undefined));
    const store = opened?.transaction(storeName, mode).objectStore(storeName);
    return store && (await requestOf<unknown>(act(store)));
  } catch {
    return undefined;
  }
}

const key = storageKeys.drafts;

/** Texts of pages that were left before the database had them, by session. */
const leftTexts = () => entriesOf<string>(readStored(key), "string");

/** Keeps the text now, because the page is being left: `saveDraft` might not finish. */
export function keepText(session: string, text: string | undefined): void {
  const { [session]: _, ...others } = leftTexts();
  const texts = { ...others, ...(text !== undefined && { [session]: text }) };
  keep(key, Object.keys(texts).length === 0 ? undefined : texts);
}

/** Keeps the draft; an empty one is removed. */
export async function saveDraft(session: string, draft: Draft): Promise<void> {
  memory.set(session, draft);
  const put = (above: number) =>
    use("readwrite", (store) => store.put(withoutBlobs(draft, above), session));
  if (draft.text === "" && draft.files.length === 0)
    await use("readwrite", (store) => store.delete(session));
  // Without room for the contents, the text is kept.
  else if ((await put(maxBlobBytes)) === undefined) await put(-1);
  if (leftTexts()[session] === draft.text) keepText(session, undefined);
}

export async function loadDraft(session: string): Promise<Draft> {
  const text = leftTexts()[session];
  const stored = memory.has(session)
    ? undefined
    : await use("readonly", (store) => store.get(session));
  const draft = memory.get(session) ?? (stored as Draft | undefined) ?? emptyDraft;
  if (text === undefined) return draft;
  const left = { ...draft, text };
  void saveDraft(session, left);
  return left;
}
