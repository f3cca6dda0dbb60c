/** Items that come by two ways, a stream and the answers to questions, in no order between the two: each is shown once,
 *  and none is lost because an answer that was made before it arrived after it. */
export interface TwoWays<T> {
  /** A question goes out: what `answered` wants to know later. */
  asked(): number;
  /** What the stream has brought since the question, and the answer does not have. */
  answered(asked: number, items: readonly T[]): T[];
  /** Of an item of the stream: whether it was not in the last answer. */
  isNew(item: T): boolean;
}

/** `most`: how many items of the stream a question may miss. Two items are the same when their JSON is. */
export function twoWays<T>(most: number): TwoWays<T> {
  const heard: T[] = [];
  let count = 0;
  let unheard = new Map<string, number>();
  const take = (item: T): boolean => {
    const key = JSON.stringify(item);
    const left = unheard.get(key) ?? 0;
    if (left > 0) unheard.set(key, left - 1);
    return left > 0;
  };
  return {
    asked: () => count,
    answered(asked, items) {
      unheard = new Map();
      for (const key of items.map((item) => JSON.stringify(item)))
        unheard.set(key, (unheard.get(key) ?? 0) + 1);
      const since = heard.slice(Math.max(0, heard.length - (count - asked)));
      return since.filter((item) => !take(item));
    },
    isNew(item) {
      if (take(item)) return false;
      count += 1;
      if (heard.push(item) > most) heard.shift();
      return true;
    },
  };
}
