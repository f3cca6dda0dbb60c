// Buffers of numbered items: any items, frames, and the undelivered messages of a stream.
import type { LogEntry, SequenceRange } from "./session-log.ts";

/** Items with consecutive numbers. */
export class SequenceBuffer<T> {
  private readonly items: (T | undefined)[] = [];
  /** The lowest number in the buffer. */
  first: number;

  /** @param first - The number of the first item. */
  constructor(first = 1) {
    this.first = first;
  }

  get length(): number {
    return this.items.length;
  }

  /** The number of the next item. */
  get next(): number {
    return this.first + this.items.length;
  }

  push(item: T | undefined): void {
    this.items.push(item);
  }

  at(number: number): T | undefined {
    return this.items[number - this.first];
  }

  /** Removes the item, but keeps its number. */
  clear(number: number): void {
    this.items[number - this.first] = undefined;
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined;
    this.first += 1;
    return this.items.shift();
  }

  /** @returns The items from this number on. */
  from(number: number): T[] {
    return this.items.slice(Math.max(number - this.first, 0)) as T[];
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

/** @returns The bytes of the entry. */
export const sizeOf = (entry: LogEntry): number => entry.framed?.length ?? entry.frame.byteLength;

/** The numbered frames of a stream. */
export class FrameWindow extends SequenceBuffer<LogEntry> {
  /** True if this frame is the message of a client. */
  isTurn(number: number): boolean {
    return this.at(number)?.type === "message.user";
  }

  /** True if a frame is the message of a client with this id. */
  hasRequest(request: string): boolean {
    return this.from(this.first).some((entry) => entry.request === request);
  }
}
