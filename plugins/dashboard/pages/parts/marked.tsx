/** A text with marked words. @module */
import type { JSX } from "preact";

interface MarkedProps {
  readonly text: string;
  /** Words to mark, without regard to case. */
  readonly marks: readonly string[];
}

export const Marked = ({ text, marks }: MarkedProps): JSX.Element => (
  <>
    {splitMarks(text, marks).map((part, index) =>
      index % 2 === 1 ? <mark key={index}>{part}</mark> : part,
    )}
  </>
);

/** Splits a text at the marked words: every second part is marked. */
export function splitMarks(text: string, marks: readonly string[]): readonly string[] {
  if (marks.length === 0) return [text];
  const escaped = marks.map((mark) => mark.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return text.split(new RegExp(`(${escaped.join("|")})`, "giu"));
}
