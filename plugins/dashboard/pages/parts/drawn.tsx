/** Draws parts of long texts, each in a frame that has the time. @module */
import { Component, type ComponentChildren, type JSX } from "preact";
import { useMemo } from "preact/hooks";
import { drawCost, drawLater, drawNever, takeUnits } from "../live/draw-budget.ts";
import { hasLongWord, splitLongText } from "../../shared/split-long-text.ts";

interface DrawnProps {
  /** The value that is drawn: the same value is not drawn again. */
  readonly of: unknown;
  readonly cost: number;
  readonly draw: () => ComponentChildren;
  /** Shown until the first drawing. */
  readonly until?: ComponentChildren;
}

/** Draws a value as soon as a frame has the time. Until then, what was drawn before stays. */
export class Drawn extends Component<DrawnProps> {
  private shown: unknown = this;
  /** True if a frame has taken the units for the next drawing. */
  private isGranted = false;
  private content: ComponentChildren = this.props.until;

  override componentWillUnmount(): void {
    drawNever(this.again);
  }

  override render({ of, cost, draw }: DrawnProps): ComponentChildren {
    if (of === this.shown) return this.content;
    if (!this.isGranted && !takeUnits(cost)) {
      drawLater(this.again, cost);
      return this.content;
    }
    this.isGranted = false;
    this.shown = of;
    // The same element again is not compared.
    return (this.content = <>{draw()}</>);
  }

  private readonly again = (): void => {
    this.isGranted = true;
    this.forceUpdate();
  };
}

/** A browser lays out a longer paragraph in one go, which takes too long. */
const maxPart = 4_000;

const splitForLayout = (text: string): readonly string[] =>
  splitLongText(text, maxPart).flatMap((part) =>
    hasLongWord(part) ? splitLongText(part, maxPart / 4) : [part],
  );

const costOf = (part: string): number => (hasLongWord(part) ? 2 : 1) * drawCost(part);

/** Draws text as it is. A long one is several elements. */
export function PlainText({ text }: { readonly text: string }): JSX.Element {
  const parts = useMemo(() => splitForLayout(text), [text]);
  if (parts.length === 1) return <>{text}</>;
  const draw = (part: string): JSX.Element => <div>{part}</div>;
  return (
    <>
      {parts.map((part, at) => (
        <Drawn key={at} of={part} cost={costOf(part)} draw={() => draw(part)} />
      ))}
    </>
  );
}
