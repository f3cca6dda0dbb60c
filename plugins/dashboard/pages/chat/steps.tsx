/** The thoughts and tool calls of an answer, folded into one row. @module */
import type { JSX } from "preact";
import { visibleText } from "../../shared/visible-text.ts";
import { Code } from "../parts/code.tsx";
import { Icon } from "../parts/icon.tsx";
import { onDemand } from "../live/on-demand.ts";
import { formatMs } from "./dates.ts";
import { Prose } from "./markdown/prose.tsx";
import type { Step } from "./state/groups.ts";
import { readToolCall, type ToolCall } from "./tool-calls.ts";

/** Details of steps and plans. Until then, the page shows the text that all clients show. */
export const useDetails = onDemand(async () => {
  const { StepDetails, Plan } = await import("./details/step-details.tsx");
  return { StepDetails, Plan };
});

const count = (number: number, noun: string): string =>
  number === 0 ? "" : `${number} ${noun}${number === 1 ? "" : "s"}`;

interface StepsProps {
  readonly steps: readonly Step[];
  /** True while the last step runs. */
  readonly isRunning: boolean;
}

/** Draws "1 thought, 4 tool calls, 1 failed", which opens. */
export function Steps({ steps, isRunning }: StepsProps): JSX.Element {
  const calls = steps.flatMap(({ message }) =>
    message.kind === "tools" ? callsOf(message.calls) : [],
  );
  const thoughts = steps.filter(({ message }) => message.kind === "thought").length;
  const summary = [count(thoughts, "thought"), count(calls.length, "tool call")];
  const ms = steps.reduce((sum, step) => sum + (step.ms ?? 0), 0);
  const failed = calls.filter(({ isFailed }) => isFailed).length;
  return (
    <details class="steps" open={isRunning || failed > 0}>
      <summary>
        <Icon name="chevron-right" small flip tone="turn" />
        <span>{summary.filter(Boolean).join(", ")}</span>
        {failed > 0 && <span class="bad">{failed} failed</span>}
        {ms > 0 && <span class="ms num">{formatMs(ms)}</span>}
      </summary>
      <div class="items">
        {steps.map(({ message, ms: took }) =>
          message.kind === "thought" ? (
            <Thought key={message.key} text={message.content} ms={took} />
          ) : (
            callsOf(message.calls).map((call, at) => (
              <Call key={`${message.key} ${at}`} call={call} ms={took} />
            ))
          ),
        )}
      </div>
    </details>
  );
}

/** A message of the kind `tool_calls` without calls is one call without a name. */
const callsOf = (calls: readonly unknown[]): readonly ToolCall[] =>
  calls.length === 0 ? [readToolCall(undefined)] : calls.map(readToolCall);

const Took = ({ ms }: { readonly ms: number | undefined }): JSX.Element => (
  <span class="ms num">{ms === undefined ? "" : formatMs(ms)}</span>
);

function Thought({ text, ms }: { text: string; ms: number | undefined }): JSX.Element {
  return (
    <details>
      <summary>
        <Icon name="brain" small />
        <span>Thought</span>
        <Took ms={ms} />
      </summary>
      <div class="in">
        <Prose text={text} />
      </div>
    </details>
  );
}

interface CallProps {
  readonly call: ToolCall;
  readonly ms: number | undefined;
}

function Call({ call, ms }: CallProps): JSX.Element {
  const { name, input, output, isFailed, described } = call;
  const details = useDetails(described !== undefined);
  return (
    <details open={isFailed}>
      <summary>
        <Icon name="wrench" small />
        {described?.title ? <span dir="auto">{visibleText(name)}</span> : <code>{name}</code>}
        {isFailed && <span class="bad">Failed</span>}
        <Took ms={ms} />
      </summary>
      <div class="in">
        {described && details && <details.StepDetails call={described} />}
        {input !== undefined && <Code language="json" title="Arguments" text={input} />}
        {output !== undefined && <Code language="json" title="Result" text={output} />}
        {input === undefined && output === undefined && !described && <p>No arguments</p>}
      </div>
    </details>
  );
}
