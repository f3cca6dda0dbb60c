/** Counts the open questions for the navigation and the tab. Loaded after the page. @module */
import { effect } from "@preact/signals";
import type { QuestionsView } from "../../shared/question-views.ts";
import { load } from "../live/owner.ts";
import { subscribe } from "../live/stream.ts";
import { counts, countedTitle } from "./counts.ts";

/** Keeps the number current while the page is open. */
export function followQuestions(): void {
  const refresh = () =>
    load<QuestionsView>("/api/questions", ({ questions }) => {
      counts.value = { ...counts.peek(), questions: questions.length };
    });
  subscribe({ refresh, refreshOn: ["questions"] });
  void refresh();
  effect(() => {
    document.title = countedTitle(document.title.replace(/^\(\d+\) /, ""));
  });
}
