/** A card with a heading. @module */
import type { ComponentChildren, JSX } from "preact";

interface CardProps {
  /** Id of the heading. */
  readonly id: string;
  readonly title: string;
  /** Link, button or state at the end of the heading. */
  readonly end?: ComponentChildren;
  readonly kind?: string;
  readonly children: ComponentChildren;
}

export function Card({ id, title, end, kind = "", children }: CardProps): JSX.Element {
  return (
    <section class={`card ${kind}`} aria-labelledby={id}>
      <header>
        <h2 class="grow" id={id}>
          {title}
        </h2>
        {end}
      </header>
      {children}
    </section>
  );
}
