// Updates table rows in place.
import { el } from "./dom.ts";

export interface Row<T> {
  readonly element: HTMLElement;
  update(item: T): void;
}

/**
 * Returns a function that shows items in order. An item with the same key keeps its element, and
 * an element moves only if its relative order changes. This preserves focus and selection.
 */
export function keepRows<T>(
  list: HTMLElement,
  keyOf: (item: T) => string,
  make: (item: T) => Row<T>,
): (items: readonly T[]) => void {
  const rows = new Map<string, Row<T>>();
  return (items) => {
    const wanted = new Set(items.map(keyOf));
    for (const [key, { element }] of rows) {
      if (wanted.has(key)) continue;
      element.remove();
      rows.delete(key);
    }
    let next = list.firstElementChild;
    for (const item of items) {
      const row = rows.get(keyOf(item)) ?? make(item);
      rows.set(keyOf(item), row);
      row.update(item);
      if (row.element === next) next = next.nextElementSibling;
      else list.insertBefore(row.element, next);
    }
  };
}

/** Creates a table cell. Narrow screens show `label` next to the content. */
export function cell(label: string, content: Node, kind = ""): HTMLElement {
  return el(
    "td",
    { role: "cell", "data-label": label, ...(kind !== "" && { class: kind }) },
    content,
  );
}
