/** Numbers in the navigation and in the title of the tab. @module */
import { effect, signal } from "@preact/signals";
import type { QuestionsView } from "../../shared/question-views.ts";
import { load } from "../live/owner.ts";
import { subscribe } from "../live/stream.ts";

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

/** Keeps the number of open questions current while the page is open. */
export function followQuestions(): void {
  const refresh = () =>
    load<QuestionsView>(
      "/api/questions",
      ({ questions }) => {
        counts.value = { ...counts.peek(), questions: questions.length };
      },
      "counts",
    );
  subscribe({ refresh, refreshOn: ["questions"] });
  void refresh();
  effect(() => {
    document.title = countedTitle(document.title.replace(/^\(\d+\) /, ""));
  });
}
