/** Unsent messages, and where they are kept. @module */
import type { ShownFile } from "./thread.ts";

/** An unsent message. */
export interface Draft {
  readonly text: string;
  readonly files: readonly ShownFile[];
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
