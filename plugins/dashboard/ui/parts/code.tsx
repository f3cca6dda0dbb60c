/** Code with its language, highlighted, with a button that copies it. @module */
import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Button } from "./button.tsx";
import { CopyButton } from "./copy.tsx";
import type { CodePiece } from "./highlight.ts";

type Highlight = (language: string, text: string) => readonly CodePiece[];

/** Undefined until the highlighter is loaded; until then code is plain text. */
const highlighter = signal<Highlight | undefined>(undefined);
let loading: Promise<void> | undefined;

/** Loads the highlighter. A failure leaves the code plain. */
function loadHighlighter(): void {
  loading ??= import("./highlight.ts").then(
    ({ highlight }) => {
      highlighter.value = highlight;
    },
    () => undefined,
  );
}

/** Longer code is folded. */
const maxLines = 400;

interface CodeProps {
  /** Language for the highlighter, for example `python`. */
  readonly language: string;
  readonly text: string;
  /** Shown above the code. @defaultValue the language */
  readonly title?: string;
  /** Replaces the copy button. */
  readonly actions?: ComponentChildren;
}

/** Code never wraps, and is left to right in every page. */
export function Code({ language, text, title, actions }: CodeProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const lines = useMemo(() => text.split("\n"), [text]);
  const isFolded = lines.length > maxLines && !isOpen;
  const shown = isFolded ? lines.slice(0, maxLines).join("\n") : text;
  const name = title ?? language;
  return (
    <div class="code">
      <header>
        <span>{name}</span>
        {actions ?? <CopyButton text={text} kind="ghost" compact />}
      </header>
      <pre dir="ltr" tabIndex={0} role="group" aria-label={`Code, ${name || "plain text"}`}>
        <code>
          <Highlighted language={language} text={shown} />
        </code>
      </pre>
      {isFolded && (
        <Button kind="ghost" compact block onClick={() => setOpen(true)}>
          Show all {lines.length} lines
        </Button>
      )}
    </div>
  );
}

interface HighlightedProps {
  readonly language: string;
  readonly text: string;
}

/** Highlighted text without a frame. */
export function Highlighted({ language, text }: HighlightedProps): JSX.Element {
  useEffect(loadHighlighter, []);
  const highlight = highlighter.value;
  const pieces = useMemo(
    () => highlight?.(language, text) ?? [{ text }],
    [highlight, language, text],
  );
  return (
    <>
      {pieces.map((piece, at) =>
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
