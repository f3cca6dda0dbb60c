// Merges items from a stream with items from responses.

/**
 * Shows each item once. Stream and responses can contain the same item and can arrive in any order;
 * a response created before a streamed item must not remove that item.
 */
interface SourceMerger<T> {
  /** Call before a request. Pass the result to `mergeResponse`. */
  beginRequest(): number;
  /** @returns The items streamed since the request that the response does not contain. */
  mergeResponse(position: number, items: readonly T[]): T[];
  /** @returns False if the last response already contained the streamed item. */
  acceptStreamed(item: T): boolean;
}

/**
 * Creates a merger. Two items are equal if their JSON is equal.
 *
 * @param maxItems - Number of streamed items to keep for responses that are under way.
 */
export function mergeSources<T>(maxItems: number): SourceMerger<T> {
  const streamed: T[] = [];
  let streamedCount = 0;
  /** Items of the last response that the stream has not delivered yet, with their number. */
  let expected = new Map<string, number>();
  const takeExpected = (item: T): boolean => {
    const key = JSON.stringify(item);
    const left = expected.get(key) ?? 0;
    if (left > 0) expected.set(key, left - 1);
    return left > 0;
  };
  return {
    beginRequest: () => streamedCount,
    mergeResponse(position, items) {
      expected = new Map();
      for (const key of items.map((item) => JSON.stringify(item)))
        expected.set(key, (expected.get(key) ?? 0) + 1);
      const since = streamed.slice(Math.max(0, streamed.length - (streamedCount - position)));
      return since.filter((item) => !takeExpected(item));
    },
    acceptStreamed(item) {
      if (takeExpected(item)) return false;
      streamedCount += 1;
      if (streamed.push(item) > maxItems) streamed.shift();
      return true;
    },
  };
}
