/** Keeps unsent messages of this browser for each conversation, with their files. @module */
import { databaseName, entriesOf, keep, readStored, storageKeys } from "../../live/storage.ts";
import type { ShownFile, UserMessage } from "./thread.ts";

/**
 * A file of an unsent message.
 * - `ready`: the message can contain or name it.
 * - `chosen`: its content is here, for an upload.
 * - `stored`: a session has it. With the content, another session can get it.
 * - `lost`: the browser had no room for its content.
 */
export type DraftFile = ShownFile &
  Readonly<
    | { state: "ready" | "lost"; blob?: never; session?: never }
    | { state: "chosen"; blob: File; session?: never }
    | { state: "stored"; blob?: File; session: string; id: string }
  >;

/** An unsent message. */
export interface Draft {
  readonly text: string;
  readonly files: readonly DraftFile[];
}

export const emptyDraft: Draft = { text: "", files: [] };

/** A message in the conversation, as an unsent one. */
export const draftOf = ({ content, files }: Pick<UserMessage, "content" | "files">): Draft => ({
  text: content,
  files: files.map((file) => ({ ...file, state: (file.id ?? file.url) ? "ready" : "lost" })),
});

export const joinDrafts = (first: Draft, second: Draft): Draft => ({
  text: [first.text, second.text].filter(Boolean).join("\n\n"),
  files: [...first.files, ...second.files],
});

const storeName = "drafts";
/** Larger contents would fill the storage of the browser. They last until the page is left. */
const maxBlobBytes = 64 * 1024 * 1024;

/** The draft without the contents of files above a size. */
const withoutBlobs = (draft: Draft, above: number): Draft => ({
  ...draft,
  files: draft.files.map((file) => {
    const { blob, ...rest } = file;
    if (!blob || blob.size <= above) return file;
    return rest.state === "chosen" ? { ...rest, state: "lost" } : rest;
  }),
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
  const stored = await use("readonly", (store) => store.get(session));
  const draft = (stored as Draft | undefined) ?? emptyDraft;
  if (text === undefined) return draft;
  const left = { ...draft, text };
  void saveDraft(session, left);
  return left;
}
