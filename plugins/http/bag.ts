/** Things that come and go by the thousand. */
export interface ItemSet<T extends object> {
  has(item: T): boolean;
  /** Once at a time. */
  add(item: T): void;
  delete(item: T): void;
  all(): T[];
}

type IndexedItem = Record<symbol, number | undefined>;

/** Each item knows its place, and leaves it to the last one. A set would not do: when one that has become old grows
 *  anew, V8 makes its new table old, too, and what stood in the one before lives on until the next full collection,
 *  with all that hangs on it. */
export function createItemSet<T extends object>(): ItemSet<T> {
  const place = Symbol("place");
  const items: (T | undefined)[] = [];
  let count = 0;
  const placeOf = (item: T): number | undefined => (item as IndexedItem)[place];
  const put = (item: T, at: number | undefined): void => void ((item as IndexedItem)[place] = at);

  return {
    has: (item) => placeOf(item) !== undefined,
    add(item) {
      items[count] = item;
      put(item, count);
      count += 1;
    },
    delete(item) {
      const at = placeOf(item);
      if (at === undefined) return;
      count -= 1;
      const last = items[count]!;
      items[at] = last;
      put(last, at);
      put(item, undefined);
      items[count] = undefined; // not popped: an array that shrinks is made anew when it grows
    },
    all: () => items.slice(0, count) as T[],
  };
}
