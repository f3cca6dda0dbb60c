/** Draws highlighted code. Loaded when a page shows code for the first time. @module */
import bash from "highlight.js/lib/languages/bash";
import diff from "highlight.js/lib/languages/diff";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { drawCost } from "../live/draw-budget.ts";
import { splitLongText } from "../../shared/split-long-text.ts";
import { Drawn, PlainText } from "./drawn.tsx";

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

/** A piece of highlighted code: text with at most one class. */
interface CodePiece {
  readonly text: string;
  readonly kind?: string;
}

const lowlight = createLowlight({
  bash,
  diff,
  javascript,
  json,
  python,
  typescript,
  xml,
  yaml,
});

interface TreeNode {
  readonly type: string;
  readonly value?: string;
  readonly properties?: { readonly className?: unknown };
  readonly children?: readonly TreeNode[];
}

/** The patterns of a grammar take quadratic time for a longer line. */
const maxLine = 400;
const maxPieces = 1_000;

/**
 * @returns The code in pieces; one piece without a class if the language is unknown, a line is too
 *   long or the code would have too many pieces.
 */
function highlight(language: string, text: string): readonly CodePiece[] {
  const isKnown = lowlight.registered(language);
  if (!isKnown || text.split("\n").some(({ length }) => length > maxLine)) return [{ text }];
  const pieces = toPieces(lowlight.highlight(language, text) as TreeNode, undefined);
  return pieces.length > maxPieces ? [{ text }] : pieces;
}

function toPieces(node: TreeNode, kind: string | undefined): CodePiece[] {
  if (node.type === "text") return [{ text: node.value ?? "", ...(kind && { kind }) }];
  const names = node.properties?.className;
  const own = Array.isArray(names) ? names.join(" ") : kind;
  return (node.children ?? []).flatMap((child) => toPieces(child, own));
}
