import { el } from "./dom.ts";

export interface Row<T> {
  readonly element: HTMLElement;
  update(item: T): void;
}

/** Keeps one element for each item of a list, in its order: the same element stays for the same key, and is not moved
 *  when only others come and go, so that focus and selection stay too. */
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
    let place = list.firstElementChild;
    for (const item of items) {
      const row = rows.get(keyOf(item)) ?? make(item);
      rows.set(keyOf(item), row);
      row.update(item);
      if (row.element === place) place = place.nextElementSibling;
      else list.insertBefore(row.element, place);
    }
  };
}

/** A cell of a row; on narrow screens `label` stands beside its content. */
export function cell(label: string, content: Node, kind = ""): HTMLElement {
  return el(
    "td",
    { role: "cell", "data-label": label, ...(kind !== "" && { class: kind }) },
    content,
  );
}
