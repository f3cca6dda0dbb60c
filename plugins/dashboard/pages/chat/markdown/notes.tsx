/** Draws footnotes, folded parts and code that is an image. @module */
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { IconButton } from "../../parts/button.tsx";
import { Code } from "../../parts/code.tsx";
import { CopyButton } from "../../parts/copy.tsx";

/** Moves from a mark to its note or back, in the same message. */
function follow(from: HTMLElement, id: string, kind: "note" | "mark"): void {
  const found = from.closest(".prose")?.querySelectorAll<HTMLElement>(`[data-${kind}]`) ?? [];
  const target = [...found].find(({ dataset }) => dataset[kind] === id);
  target?.focus({ preventScroll: true });
  target?.scrollIntoView({ block: "center" });
}

interface FootnoteProps {
  readonly id: string;
}

/** A small mark that leads to its note. */
export function FootnoteMark({ id }: FootnoteProps): JSX.Element {
  return (
    <sup>
      <button
        type="button"
        class="footnote-mark"
        data-mark={id}
        aria-label={`Footnote ${id}`}
        onClick={({ currentTarget }) => follow(currentTarget, id, "note")}
      >
        {id}
      </button>
    </sup>
  );
}

/** A note where the application wrote it, with a way back. */
export function Footnote(
  props: FootnoteProps & { readonly children: ComponentChildren },
): JSX.Element {
  const { id, children } = props;
  return (
    <div class="footnote" dir="auto" data-note={id} tabIndex={-1}>
      <button
        type="button"
        class="footnote-mark"
        aria-label={`Back to footnote ${id}`}
        onClick={({ currentTarget }) => follow(currentTarget, id, "mark")}
      >
        {id}
      </button>{" "}
      {children}
    </div>
  );
}

/** The image without a request: as an image, SVG runs no scripts and loads nothing. */
function toImage(source: string): string {
  const named = /^[^>]{0,2000}\sxmlns\s?=/.test(source)
    ? source
    : source.replace(/<svg/i, '<svg xmlns="http://www.w3.org/2000/svg"');
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(named.toWellFormed())}`;
}

/** @returns True if the code is an image that `SvgCode` can show. */
export const isSvg = (language: string, text: string): boolean =>
  /^(?:svg|xml|html)$/i.test(language) && /^\s{0,99}<svg[\s>]/i.test(text);

interface SvgProps {
  readonly language: string;
  readonly text: string;
  readonly fileName: string;
}

/** The code of an image. A click shows the image below it. */
export function SvgCode({ language, text, fileName }: SvgProps): JSX.Element {
  const [isShown, setShown] = useState(false);
  const [isBroken, setBroken] = useState(false);
  const actions = (
    <>
      <IconButton
        icon="image"
        label="Show image"
        compact
        aria-pressed={isShown}
        onClick={() => setShown(!isShown)}
      />
      <CopyButton text={text} kind="ghost" compact />
    </>
  );
  return (
    <div class="svg-code">
      <Code
        language={language === "svg" ? "xml" : language}
        title={language}
        {...{ text, fileName, actions }}
      />
      {isShown && !isBroken && (
        <img
          class="attached"
          src={toImage(text)}
          alt="Image of the code above"
          onError={() => setBroken(true)}
        />
      )}
      {isShown && isBroken && <p class="muted">The browser can’t draw this SVG.</p>}
    </div>
  );
}
