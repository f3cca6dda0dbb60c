/** The arguments of the tool call behind a question. @module */
import type { JSX } from "preact";
import { foldBlankLines, visibleText } from "../../shared/visible-text.ts";
import { StepDetails } from "../chat/details/step-details.tsx";
import { readToolCall } from "../chat/tool-calls.ts";
import { Notice } from "../parts/states.tsx";

/** Characters that are shown. The page says so if there are more. */
const maxShown = 20_000;

interface ArgumentsProps {
  /** The call in the form of the program; undefined if it is not known. */
  readonly call: unknown;
}

/** Lines that a fold does not hide: fewer below a change or a command. The rest opens. */
const maxLines = 10;
const maxLinesBelow = 5;

/**
 * Precedes the words of the model, which may differ from the call that runs: the change, the
 * command and all arguments.
 */
export function ToolArguments({ call }: ArgumentsProps): JSX.Element {
  if (call === undefined)
    return <Notice tone="warn">The arguments of the tool call are missing here.</Notice>;
  const { name, input = "No arguments", described, command } = readToolCall(call);
  return (
    <>
      {described && <StepDetails call={described} />}
      {command !== undefined && (
        <figure>
          <figcaption class="muted small">Command</figcaption>
          <LongText name="Command" text={command} max={maxLines} />
        </figure>
      )}
      <figure>
        <figcaption class="muted small">
          Arguments of <code>{visibleText(name)}</code>
        </figcaption>
        <LongText
          name="Arguments"
          text={input.slice(0, maxShown)}
          max={described || command !== undefined ? maxLinesBelow : maxLines}
        />
      </figure>
      {input.length > maxShown && (
        <Notice tone="warn">The arguments are longer than shown here.</Notice>
      )}
    </>
  );
}

interface LongTextProps {
  readonly name: string;
  readonly text: string;
  readonly max: number;
}

/** The first lines, and the rest in a fold. One more line is not worth a fold. */
function LongText({ name, text, max }: LongTextProps): JSX.Element {
  const lines = foldBlankLines(visibleText(text)).split("\n");
  const isLong = lines.length > max + 1;
  const first = isLong ? lines.slice(0, max) : lines;
  return (
    <>
      <pre dir="ltr" tabIndex={0} role="group" aria-label={name}>
        {first.join("\n")}
      </pre>
      {isLong && (
        <details class="more">
          <summary>{`${lines.length - max} more lines`}</summary>
          <pre dir="ltr" tabIndex={0} role="group" aria-label={`${name}, continued`}>
            {lines.slice(max).join("\n")}
          </pre>
        </details>
      )}
    </>
  );
}
