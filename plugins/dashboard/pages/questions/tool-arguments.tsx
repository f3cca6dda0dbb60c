/** The arguments of the tool call behind a question. @module */
import type { JSX } from "preact";
import { foldBlankLines, visibleText } from "../../shared/visible-text.ts";
import { readToolCall } from "../chat/tool-calls.ts";
import { Notice } from "../parts/states.tsx";

/** Characters that are shown. The page says so if there are more. */
const maxShown = 20_000;

interface ArgumentsProps {
  /** The call in the form of the program; undefined if it is not known. */
  readonly call: unknown;
}

/** Precedes the words of the model, which may differ from the call that runs. */
export function ToolArguments({ call }: ArgumentsProps): JSX.Element {
  if (call === undefined)
    return <Notice tone="warn">The arguments of the tool call are missing here.</Notice>;
  const { name, input = "No arguments" } = readToolCall(call);
  return (
    <>
      <figure>
        <figcaption class="muted small">
          Arguments of <code>{visibleText(name)}</code>
        </figcaption>
        <pre dir="ltr" tabIndex={0} role="group" aria-label="Arguments">
          {foldBlankLines(visibleText(input.slice(0, maxShown)))}
        </pre>
      </figure>
      {input.length > maxShown && (
        <Notice tone="warn">The arguments are longer than shown here.</Notice>
      )}
    </>
  );
}
