/** The arguments of the tool call behind a question. Loaded after the page. @module */
import type { JSX } from "preact";
import { visibleText } from "../../../shared/visible-text.ts";
import { Notice } from "../../parts/states.tsx";
import type { Answer } from "../state/groups.ts";
import type { AskedQuestion } from "../state/thread.ts";
import { readToolCall } from "../tool-calls.ts";

function callOf({ segments }: Answer, id: string): unknown {
  const calls = segments.flatMap((segment) =>
    segment.kind === "steps" ? segment.steps.flatMap(({ message }) => message.calls) : [],
  );
  return calls.findLast(
    (call) => typeof call === "object" && call !== null && "id" in call && call.id === id,
  );
}

interface ArgumentsProps {
  readonly answer: Answer;
  readonly asked: AskedQuestion;
}

/** Precedes the words of the model, which may differ from the call that runs. */
export function Arguments({ answer, asked }: ArgumentsProps): JSX.Element | null {
  const { toolCallId } = asked;
  if (toolCallId === undefined) return null;
  const call = callOf(answer, toolCallId);
  if (call === undefined)
    return <Notice tone="warn">This page does not have the arguments of the tool call.</Notice>;
  const { name, input, isCut } = readToolCall(call);
  return (
    <>
      <figure>
        <figcaption class="muted small">
          Arguments of <code>{visibleText(name)}</code>
        </figcaption>
        <pre dir="ltr" tabIndex={0} role="group" aria-label="Arguments">
          {visibleText(input ?? "No arguments")}
        </pre>
      </figure>
      {isCut === true && <Notice tone="warn">The arguments are longer than shown here.</Notice>}
    </>
  );
}
