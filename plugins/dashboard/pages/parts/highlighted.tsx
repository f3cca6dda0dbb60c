/** Draws highlighted code. Loaded when a page shows code for the first time. @module */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { drawCost } from "../live/draw-budget.ts";
import { splitLongText } from "../../shared/split-long-text.ts";
import { Drawn, PlainText } from "./drawn.tsx";
import { highlight } from "./highlight.ts";

export interface HighlightedProps {
  readonly language: string;
  readonly text: string;
}

/** Longer code is plain. */
const maxHighlighted = 20_000;
/** Longer code is highlighted in parts, each on its own: a comment may end with its part. */
const maxPart = 4_000;
/** How much longer the highlighting of a character takes than its drawing. */
const highlightCost = 4;

/** Highlights code as soon as a frame has the time. Until then it is plain. */
export function Highlighted({ language, text }: HighlightedProps): JSX.Element {
  const parts = useMemo(() => splitLongText(text, maxPart), [text]);
  if (language === "" || text.length > maxHighlighted) return <PlainText text={text} />;
  const draw = (part: string): JSX.Element => {
    const pieces = <Pieces language={language} text={part} />;
    return parts.length === 1 ? pieces : <div>{pieces}</div>;
  };
  return (
    <>
      {parts.map((part, at) => (
        <Drawn
          key={`${language} ${at}`}
          of={part}
          cost={highlightCost * drawCost(part)}
          draw={() => draw(part)}
          until={parts.length === 1 ? part : <div>{part}</div>}
        />
      ))}
    </>
  );
}

function Pieces({ language, text }: HighlightedProps): JSX.Element {
  return (
    <>
      {highlight(language, text).map((piece, at) =>
        "kind" in piece ? (
          <span key={at} class={piece.kind}>
            {piece.text}
          </span>
        ) : (
          piece.text
        ),
      )}
    </>
  );
}
