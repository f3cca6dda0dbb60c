// A buffer of consecutively numbered items, and the undelivered messages of a stream.
import type { SequenceRange } from "./session-log.ts";

const minCompaction = 32;

/** Items with consecutive numbers. Removing the oldest item does not move the others. */
export class SequenceBuffer<T> {
  private items: (T | undefined)[] = [];
  /** The number of the first array element. */
  private base: number;
  /** The lowest number in the buffer. */
  first: number;

  /** @param first - The number of the first item. */
  constructor(first = 1) {
    this.base = first;
    this.first = first;
  }

  get length(): number {
    return this.next - this.first;
  }

  /** The number of the next item. */
  get next(): number {
    return this.base + this.items.length;
  }

  push(item: T | undefined): void {
    this.items.push(item);
  }

  at(number: number): T | undefined {
    return this.items[number - this.base];
  }

  replace(number: number, item: T): void {
    this.items[number - this.base] = item;
  }

  /** Removes the item, but keeps its number. */
  clear(number: number): void {
    this.items[number - this.base] = undefined;
  }

  shift(): T | undefined {
    const { items, first } = this;
    if (this.length === 0) return undefined;
    this.first += 1;
    if (items.length === 1) {
      // keeps the array, so that the next push allocates nothing
      this.base += 1;
      return items.pop();
    }
    const item = this.at(first);
    this.clear(first);
    const free = this.first - this.base;
    if (free < minCompaction || free < this.length) return item;
    this.items = items.slice(free);
    this.base = this.first;
    return item;
  }

  /** @returns The items from this number on. */
  from(number: number): T[] {
    return this.items.slice(Math.max(number, this.first) - this.base) as T[];
  }
}

type NumberRange = Pick<SequenceRange, "after" | "upTo">;

/** Ids of messages that are neither delivered nor lost, by sequence number. */
export class PendingReceipts extends SequenceBuffer<string> {
  open = 0;
  /**
   * Numbers that a request with `wait` received, while earlier numbers remain for other clients.
   */
  private seen: Set<number> | undefined = undefined;

  override push(id: string | undefined): void {
    super.push(id);
    if (id !== undefined) this.open += 1;
  }

  override clear(number: number): void {
    if (this.at(number) === undefined) return;
    this.open -= 1;
    this.seen?.delete(number);
    super.clear(number);
  }

  markSeen(numberRange: NumberRange): void {
    const seen = (this.seen ??= new Set());
    this.each(numberRange, (_, number) => seen.add(number));
  }

  /** Forgets the oldest entries up to this number while there are more than `max`. */
  forget(upTo: number, max = 0): void {
    while (this.length > max && this.first <= upTo) {
      this.clear(this.first);
      this.shift();
    }
  }

  /**
   * Removes acknowledged numbers.
   * @returns The ids of messages that have no other pending number.
   */
  acknowledge(numberRange: NumberRange): string[] {
    const delivered = new Set<string>();
    this.each(numberRange, (id, number) => {
      delivered.add(id);
      this.clear(number);
    });
    while (this.length > 0 && this.at(this.first) === undefined) this.shift();
    if (this.open > 0) for (const id of this.from(this.first)) delivered.delete(id);
    return [...delivered];
  }

  /**
   * Removes numbers that no client can receive any more.
   * @returns The ids of messages that no client has received.
   */
  lose(after: number, upTo = Number.POSITIVE_INFINITY): string[] {
    const lost: string[] = [];
    this.each({ after, upTo }, (id, number) => {
      if (!this.seen?.has(number)) lost.push(id);
      this.clear(number);
    });
    return lost;
  }

  private each({ after, upTo }: NumberRange, use: (id: string, number: number) => void): void {
    const end = Math.min(upTo, this.next - 1);
    for (let number = Math.max(after + 1, this.first); number <= end; number++) {
      const id = this.at(number);
      if (id !== undefined) use(id, number);
    }
  }
}
