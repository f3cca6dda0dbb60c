/** Code with its language, highlighted, with a button that copies it. @module */
import type { ComponentChildren, JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { formatCount } from "../../shared/format.ts";
import { Button, IconButton } from "./button.tsx";
import { CopyButton } from "./copy.tsx";
import { download } from "./download.ts";
import type { HighlightedProps } from "./highlighted.tsx";
import { onDemand } from "../live/on-demand.ts";

/** Until it is loaded, code is plain text. */
const useHighlighter = onDemand(() => import("./highlighted.tsx"));

/** Longer code is folded. A copy and a download are always whole. */
const maxLines = 400;
const maxCharacters = 64 * 1024;

interface CodeProps {
  /** Language for the highlighter, for example `python`. */
  readonly language: string;
  readonly text: string;
  /** Shown above the code. @defaultValue the language */
  readonly title?: string;
  /** Name of the file for a download; without it, there are no buttons for downloads and lines. */
  readonly fileName?: string;
  /** Replaces the copy button. */
  readonly actions?: ComponentChildren;
}

/** Code wraps only if the reader asks for it, and is left to right in every page. */
export function Code({ language, text, title, fileName, actions }: CodeProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const [wraps, setWraps] = useState(false);
  const lines = useMemo(() => text.split("\n"), [text]);
  const isLong = lines.length > maxLines || text.length > maxCharacters;
  const isFolded = isLong && !isOpen;
  const shown = isFolded ? lines.slice(0, maxLines).join("\n").slice(0, maxCharacters) : text;
  const name = title ?? language;
  return (
    <div class={wraps ? "code wraps" : "code"}>
      <header>
        <span class="grow">{name}</span>
        {fileName !== undefined && (
          <>
            <IconButton
              icon="text-wrap"
              label="Wrap lines"
              compact
              aria-pressed={wraps}
              onClick={() => setWraps(!wraps)}
            />
            <IconButton
              icon="download"
              label={`Download ${fileName}`}
              compact
              onClick={() => download(fileName, text)}
            />
          </>
        )}
        {actions ?? <CopyButton text={text} kind="ghost" compact />}
      </header>
      <pre dir="ltr" tabIndex={0} role="group" aria-label={`Code, ${name || "plain text"}`}>
        <code>
          <Highlighted language={language} text={shown} />
        </code>
      </pre>
      {isFolded && (
        <Button kind="ghost" compact block onClick={() => setOpen(true)}>
          {lines.length > maxLines
            ? `Show all ${formatCount(lines.length)} lines`
            : `Show all ${formatCount(text.length)} characters`}
        </Button>
      )}
    </div>
  );
}

/** Highlighted text without a frame. */
export function Highlighted({ language, text }: HighlightedProps): JSX.Element {
  const highlighter = useHighlighter();
  if (!highlighter) return <>{text}</>;
  return <highlighter.Highlighted language={language} text={text} />;
}
