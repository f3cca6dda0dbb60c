/** The text of a question, which a model may have written. @module */
import type { JSX } from "preact";
import { foldBlankLines, visibleText } from "../../shared/visible-text.ts";
import { InertLinks } from "../chat/markdown/link.tsx";
import { Prose } from "../chat/markdown/prose.tsx";

/** Draws Markdown whose addresses are text: only a question of the kind `link` opens one. */
export function QuestionText({ text }: { readonly text: string }): JSX.Element {
  return (
    <div class="asked" tabIndex={0} role="group" aria-label="Text of the question">
      <InertLinks.Provider value>
        <Prose text={foldBlankLines(visibleText(text))} />
      </InertLinks.Provider>
    </div>
  );
}
