/** Messages that the last answer offers to send next. @module */
import type { JSX } from "preact";
import type { MessageActs } from "./message.tsx";
import type { Row } from "./state/groups.ts";

interface SuggestionsProps {
  /** The last row of the conversation. */
  readonly row: Row | undefined;
  readonly send: MessageActs["suggest"];
}

export function Suggestions({ row, send }: SuggestionsProps): JSX.Element | null {
  const suggestions = row?.kind === "answer" && row.state === "done" ? row.run?.suggestions : [];
  if (!suggestions?.length) return null;
  return (
    <div class="suggestions" role="group" aria-label="Suggestions">
      {suggestions.map((text, at) => (
        <button key={at} type="button" dir="auto" onClick={() => send(text)}>
          {text}
        </button>
      ))}
    </div>
  );
}
