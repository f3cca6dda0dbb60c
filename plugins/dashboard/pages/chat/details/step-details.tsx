/** Draws texts, terminal output and plans. Loaded when one is shown. @module */
import type { JSX } from "preact";
import type { PlanEntry, StepDetail, StepState } from "../../../../../lib/step-details.ts";
import { visibleText } from "../../../shared/visible-text.ts";
import { Icon } from "../../parts/icon.tsx";
import type { StepDescription } from "../tool-calls.ts";
import { FileDiff } from "./file-diff.tsx";

/** Draws what the application says about a call. */
export function StepDetails({ call }: { readonly call: StepDescription }): JSX.Element {
  const { details = [], locations = [] } = call;
  const places = locations.map(({ path, line }) => (line === undefined ? path : `${path}:${line}`));
  return (
    <>
      {places.length > 0 && <p class="muted xs places">{visibleText(places.join(", "))}</p>}
      {details.map((detail, at) => (
        <Detail key={at} detail={detail} />
      ))}
    </>
  );
}

function Detail({ detail }: { readonly detail: StepDetail }): JSX.Element {
  if (detail.type === "diff") return <FileDiff {...detail} />;
  const { text, cut } = detail;
  const isTerminal = detail.type === "terminal";
  const exit = isTerminal ? detail.exit : undefined;
  const name = isTerminal ? "Terminal" : "Text";
  return (
    <div class="code">
      <header>
        <span class="grow">{name}</span>
        {exit !== undefined && (
          <span class={exit === 0 ? undefined : "bad"}>{`Exit code ${exit}`}</span>
        )}
      </header>
      <pre dir="ltr" tabIndex={0} role="group" aria-label={name} class="wrapped">
        {cut && isTerminal && <Cut />}
        {isTerminal ? terminalText(text) : visibleText(text)}
        {cut && !isTerminal && <Cut />}
      </pre>
    </div>
  );
}

const Cut = (): JSX.Element => <span class="muted">{"\n… The rest is too large.\n"}</span>;

/** Colours and movements of the cursor, without the escape character before them. */
const sequence = /^(?:\[[\d:;<=>?]*[ -/]*[@-~]|[@-Z\\^_])/;
const bell = "\u0007";

function stripSequence(part: string): string {
  // A title of the window ends at a bell, or at the next escape character.
  if (part.startsWith("]")) return part.includes(bell) ? part.slice(part.indexOf(bell) + 1) : "";
  return part.replace(sequence, "");
}

function terminalText(text: string): string {
  const [first = "", ...parts] = text.split("\u001B");
  return visibleText([first, ...parts.map(stripSequence)].join(""));
}

const icons: Readonly<Record<StepState, string>> = {
  pending: "clock",
  running: "circle-dot",
  completed: "circle-check",
  failed: "circle-x",
};
const words: Readonly<Record<StepState, string>> = {
  pending: "Pending",
  running: "Running",
  completed: "Done",
  failed: "Failed",
};

/** Draws a plan as a list with states. The server has checked its entries. */
export function Plan({ entries }: { readonly entries: readonly unknown[] }): JSX.Element {
  return (
    <section class="plan" aria-label="Plan">
      <ol>
        {(entries as readonly PlanEntry[]).map(({ content, state }, at) => (
          <li key={at} class={state}>
            <Icon name={icons[state]} small />
            <span class="grow">{visibleText(content)}</span>
            <span class={state === "failed" ? "bad xs" : "muted xs"}>{words[state]}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
