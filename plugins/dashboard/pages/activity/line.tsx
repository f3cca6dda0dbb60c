/** One log line, and its fields once opened. @module */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import { Code } from "../parts/code.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { Icon } from "../parts/icon.tsx";
import { dateAndTime, formatCount } from "../../shared/format.ts";
import { Marked } from "../parts/marked.tsx";
import { levelLooks, reasonOf, sourceOf } from "./filter.ts";
import type { NumberedLine } from "./lines.ts";

/** Actions of a line on the page. */
export interface LineActions {
  toggle(id: string): void;
  /** Adds a term to the filter. */
  narrow(key: string, value: string): void;
  /** @returns The address that opens the line. */
  addressOf(id: string): string;
}

interface LineProps {
  readonly line: NumberedLine;
  readonly isOpen: boolean;
  readonly marks: readonly string[];
  readonly actions: LineActions;
}

const time = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  hourCycle: "h23",
});

function LogLine({ line, isOpen, marks, actions }: LineProps): JSX.Element {
  const { at, level, text, id, skipped } = line;
  if (skipped !== undefined) {
    const count = skipped === 1 ? "1 line" : `${formatCount(skipped)} lines`;
    return <p class="line gap">{count} skipped (limit: 50 lines per second)</p>;
  }
  const date = new Date(at);
  const reason = reasonOf(line);
  const [name, , tone] = levelLooks[level];
  return (
    <div class={`line lv-${level}${isOpen ? " open" : ""}`} data-line={id}>
      <button type="button" aria-expanded={isOpen} onClick={() => actions.toggle(id)}>
        <Icon name="chevron-right" small flip tone="turn" />
        <time dateTime={date.toISOString()} title={dateAndTime(at)}>
          {time.format(date)}
        </time>
        <span class={`lv ${tone}`}>{name}</span>
        <span class="src cut">{sourceOf(line)}</span>
        <span class="text">
          <Marked text={text} marks={marks} />
          {reason !== undefined && (
            <span class="why">
              {" · "}
              <Marked text={reason} marks={marks} />
            </span>
          )}
        </span>
      </button>
      {isOpen && <Details line={line} actions={actions} />}
    </div>
  );
}

/** Lines rarely change, so a new one draws only itself. */
export function Line(props: LineProps): JSX.Element {
  const { line, isOpen, marks, actions } = props;
  return useMemo(() => <LogLine {...props} />, [line, isOpen, marks, actions]);
}

/** Filter key -> label of the button that adds it. */
const narrowings = [
  { field: "request_id", key: "request", name: "Only request" },
  { field: "ip", key: "address", name: "Only address" },
  { field: "conversation", key: "conversation", name: "Only conversation" },
  { field: "session", key: "session", name: "Only conversation" },
] as const;

function Details({ line, actions }: Pick<LineProps, "line" | "actions">): JSX.Element {
  const { fields, id } = line;
  const hint = typeof fields["hint"] === "string" ? fields["hint"] : undefined;
  return (
    <div class="more">
      {hint !== undefined && <p class="hint">{hint}</p>}
      <Code language="json" text={JSON.stringify(fields, null, 2)} title="Fields" />
      <div class="row wrap">
        <CopyButton text={() => actions.addressOf(id)} label="Copy link" compact />
        {narrowings.map(({ field, key, name }) => {
          const value = fields[field];
          if (typeof value !== "string" || value === "") return null;
          return (
            <Button
              key={field}
              compact
              icon="list-filter"
              onClick={() => actions.narrow(key, value)}
            >
              {name} {value}
            </Button>
          );
        })}
      </div>
    </div>
  );
}
