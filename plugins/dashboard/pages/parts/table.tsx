/** A table of a card. @module */
import type { ComponentChildren, JSX } from "preact";

interface TableProps {
  readonly label: string;
  readonly columns: readonly (readonly [name: ComponentChildren, kind?: "end"])[];
  /** `cards`: on phones, each row is a card. */
  readonly kind?: "cards";
  /** The rows. */
  readonly children: ComponentChildren;
}

/** Scrolls sideways where the page is too narrow, also with the keyboard. */
export function Table({ label, columns, kind, children }: TableProps): JSX.Element {
  return (
    <div class="table-wrap" tabIndex={0} role="group" aria-label={label}>
      <table class={`data ${kind ?? ""}`}>
        <thead>
          <tr>
            {columns.map(([name, side], at) => (
              <th key={at} scope="col" class={side}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
