/** Numbers in the navigation. @module */
import { signal } from "@preact/signals";

/** Unread conversations and findings of the doctor. */
export const counts = signal<{ readonly unread: number; readonly findings: number }>({
  unread: 0,
  findings: 0,
});
