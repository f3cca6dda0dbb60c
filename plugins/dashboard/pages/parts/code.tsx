/** Code with its language, highlighted, with a button that copies it. @module */
import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { formatCount } from "../../shared/format.ts";
import { Button, IconButton } from "./button.tsx";
import { CopyButton } from "./copy.tsx";
import { download } from "./download.ts";
import type * as HighlightedModule from "./highlighted.tsx";
import type { HighlightedProps } from "./highlighted.tsx";

/** Undefined until the highlighter is loaded; until then code is plain text. */
const highlighter = signal<typeof HighlightedModule.Highlighted | undefined>(undefined);
let loading: Promise<void> | undefined;

/** Loads the highlighter. A failure leaves the code plain. */
function loadHighlighter(): void {
  loading ??= import("./highlighted.tsx").then(
    ({ Highlighted }) => {
      highlighter.value = Highlighted;
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
  const isFolded = lines.length > maxLines && !isOpen;
  const shown = isFolded ? lines.slice(0, maxLines).join("\n") : text;
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
          Show all {formatCount(lines.length)} lines
        </Button>
      )}
    </div>
  );
}

/** Highlighted text without a frame. */
export function Highlighted({ language, text }: HighlightedProps): JSX.Element {
  useEffect(loadHighlighter, []);
  const Loaded = highlighter.value;
  if (!Loaded) return <>{text}</>;
  return <Loaded language={language} text={text} />;
}
