/** The open dialogs about files: one file, or the list of a conversation. @module */
import { signal } from "@preact/signals";
import type { ShownFile } from "../state/thread.ts";

/** A file in front, and those that the arrow keys lead to. */
export interface OpenedFile {
  readonly file: ShownFile;
  /** Images of the same message. */
  readonly others: readonly ShownFile[];
}

export const openedFile = signal<OpenedFile | undefined>(undefined);
export const isListOpen = signal(false);
