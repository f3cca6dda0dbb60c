/** Keeps one element for each item of a list, in its order: the same element stays for the same key, so that focus and
 *  selection do too. */
export function keepRows<T, E extends HTMLElement>(
  list: HTMLElement, keyOf: (item: T) => string, make: (item: T) => { readonly element: E; update(item: T): void },
): (items: readonly T[]) => void {
  let rows = new Map<string, ReturnType<typeof make>>();
  return (items) => {
    const next = new Map<string, ReturnType<typeof make>>();
    let before: Element | null = list.firstElementChild;
    for (const item of items) {
      const key = keyOf(item);
      const row = rows.get(key) ?? make(item);
      row.update(item);
      next.set(key, row);
      if (row.element === before) before = before.nextElementSibling;
      else list.insertBefore(row.element, before);
    }
    for (const [key, { element }] of rows) if (!next.has(key)) element.remove();
    rows = next;
  };
}
