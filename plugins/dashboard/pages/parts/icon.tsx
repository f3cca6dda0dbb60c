/** Draws icons of the sprite and the logo. @module */
import type { JSX } from "preact";
import { useSite } from "../site.tsx";

interface IconProps {
  /** Name in `scripts/console-icons.mjs`. */
  readonly name: string;
  readonly small?: boolean | undefined;
  /** Mirrors the icon in right-to-left pages. */
  readonly flip?: boolean | undefined;
  readonly tone?: string;
}

/** Draws an icon that assistive technology ignores; the text next to it has the meaning. */
export function Icon({ name, small, flip, tone = "" }: IconProps): JSX.Element {
  const { asset } = useSite();
  const kinds = `icon ${small ? "small" : ""} ${flip ? "flip" : ""} ${tone}`;
  return (
    <svg class={kinds.replace(/\s+/g, " ").trim()} aria-hidden="true">
      <use href={`${asset("icons.svg")}#${name}`} />
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
