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
}

export const emptyDraft: Draft = { text: "", files: [] };
