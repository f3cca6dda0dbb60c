// Reads pages of a list whose newest items come first.

interface PageOptions<Cursor> {
  readonly limit?: number;
  readonly before?: Cursor;
}

interface ReadPage<Item, Cursor> {
  readonly items: readonly Item[];
  /** Reads the items before this page. Absent if there are none. */
  readonly before?: Cursor;
}

/**
 * Reads a page without some items. Older ones take their places.
 *
 * @param isLeftOut - True for few items: each page of them is read.
 */
export async function readWithout<Item, Cursor>(
  read: (options: PageOptions<Cursor> | undefined) => Promise<ReadPage<Item, Cursor>>,
  options: PageOptions<Cursor> | undefined,
  isLeftOut: (item: Item) => boolean,
): Promise<ReadPage<Item, Cursor>> {
  const page = await read(options);
  const items = page.items.filter((item) => !isLeftOut(item));
  const limit = page.items.length - items.length;
  const { before } = page;
  if (limit === 0 || before === undefined) return { ...page, items };
  const older = await readWithout(read, { limit, before }, isLeftOut);
  return { ...older, items: [...older.items, ...items] };
}
