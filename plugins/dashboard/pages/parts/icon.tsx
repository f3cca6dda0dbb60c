/** Draws icons and the logo. @module */
import { h, type JSX } from "preact";
import icons from "./icons.json" with { type: "json" };

/** The shapes are in the document: some browsers lose symbols of another file at random. */
const shapesOf = icons as unknown as Readonly<
  Record<
    string,
    readonly (readonly [element: string, attributes: Readonly<Record<string, string>>])[]
  >
>;

interface IconProps {
  /** Name in `icons.json`. */
  readonly name: string;
  readonly small?: boolean | undefined;
  /** Mirrors the icon in right-to-left pages. */
  readonly flip?: boolean | undefined;
  readonly tone?: string;
}

/** Draws an icon that assistive technology ignores; the text next to it has the meaning. */
export function Icon({ name, small, flip, tone = "" }: IconProps): JSX.Element {
  const kinds = `icon ${small ? "small" : ""} ${flip ? "flip" : ""} ${tone}`;
  return (
    <svg class={kinds.replace(/\s+/g, " ").trim()} viewBox="0 0 24 24" aria-hidden="true">
      {shapesOf[name]?.map(([element, attributes]) => h(element, attributes))}
    </svg>
  );
}

/** Draws the logo. The colours are attributes too, for pages without style sheets. */
export function Mark({ size = 26 }: { readonly size?: number }): JSX.Element {
  return (
    <svg class="mark" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <path class="mark-wall" fill="#0c6a60" d="M4 29V14a12 12 0 0 1 24 0v15z" />
      <path class="mark-light" fill="#ffd48a" d="M9 29V14.5a7 7 0 0 1 14 0V29z" />
      <path class="mark-leaf" fill="#084841" d="M9 29V14.5a7 7 0 0 1 5-6.7l3 2.7v20.6z" />
      <circle class="mark-light" fill="#ffd48a" cx="14.6" cy="20.6" r="1" />
    </svg>
  );
}
