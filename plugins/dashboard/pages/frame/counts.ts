/** Numbers in the navigation. @module */
import { signal } from "@preact/signals";

interface Counts {
  /** Unread conversations. */
  readonly unread: number;
  /** Findings of the doctor. */
  readonly findings: number;
  /** Open questions of the application. */
  readonly questions: number;
}

export const counts = signal<Counts>({ unread: 0, findings: 0, questions: 0 });

/** The title of the tab, with the number of open questions. */
export const countedTitle = (title: string): string => {
  const { questions } = counts.value;
  return questions > 0 ? `(${questions}) ${title}` : title;
};
