/** Warnings that need the owner. @module */
import type { JSX } from "preact";
import type { StatusView } from "../../api/views.ts";
import { Icon } from "../parts/icon.tsx";

/** One line for each warning; nothing if there is none. */
export function Attention({ status }: { readonly status: StatusView }): JSX.Element | null {
  if (status.warnings.length === 0) return null;
  return (
    <section class="attention" aria-label="Needs attention">
      {status.warnings.map(({ id, text, fix }) => (
        <div key={id}>
          <Icon name="triangle-alert" />
          <p>
            <b>{text}</b> {fix}
          </p>
        </div>
      ))}
    </section>
  );
}
