/** Unsent messages, and where they are kept. @module */
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
