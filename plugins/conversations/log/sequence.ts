// Buffers of numbered items: any items, frames, and the undelivered messages of a stream.
import type { LogEntry, SequenceRange } from "./session-log.ts";

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

/** Longer frames stay strings: few of them fit the window. */
const maxCopiedBytes = 4_096;
const minSlabBytes = 1_024;

/** @returns The bytes of the entry. */
export const sizeOf = (entry: LogEntry): number =>
  entry.framed?.length ?? entry.bytes ?? entry.frame.byteLength;

/**
 * Numbered frames. All but the newest are copied into one slab of bytes: as strings, they would
 * live just long enough for the garbage collector to copy them twice and then to need a full
 * collection. The newest stays as it is, because clients without acknowledgements need no other.
 */
export class FrameWindow {
  /** Entries, and the lengths of the frames in the slab. */
  private readonly items: SequenceBuffer<LogEntry | number>;
  private slab: Buffer | undefined = undefined;
  private slabStart = 0;
  private slabEnd = 0;

  /** @param first - The number of the first frame. */
  constructor(first = 1) {
    this.items = new SequenceBuffer(first);
  }

  get length(): number {
    return this.items.length;
  }

  /** The lowest number in the window. */
  get first(): number {
    return this.items.first;
  }

  push(entry: LogEntry): void {
    const { items } = this;
    const newest = items.length > 0 ? items.at(items.next - 1) : undefined;
    if (typeof newest === "object") this.copy(newest, items.next - 1);
    items.push(entry);
  }

  /** Removes the oldest frame. @returns Its bytes. */
  shift(): number {
    const item = this.items.shift();
    if (item === undefined) return 0;
    if (typeof item === "number") this.slabStart += item;
    if (this.items.length === 0) this.slab = undefined;
    return typeof item === "number" ? item : sizeOf(item);
  }

  /** True if this frame is the message of a client. */
  isTurn(number: number): boolean {
    const item = this.items.at(number);
    return typeof item === "object" && item.type === "message.user";
  }

  /** True if a frame is the message of a client with this id. */
  hasRequest(request: string): boolean {
    return this.items
      .from(this.first)
      .some((item) => typeof item === "object" && item.request === request);
  }

  /** @returns The frames from this number on, without their headers. */
  from(number: number): Uint8Array[] {
    const frames: Uint8Array[] = [];
    const { items } = this;
    let at = this.slabStart;
    for (let next = items.first; next < items.next; next++) {
      const item = items.at(next)!;
      if (next >= number) frames.push(typeof item === "object" ? item.frame : this.read(at, item));
      if (typeof item === "number") at += item;
    }
    return frames;
  }

  private copy(entry: LogEntry, number: number): void {
    const { framed, request } = entry;
    if (typeof framed !== "string" || framed.length > maxCopiedBytes) return;
    if (request !== undefined || entry.type === "message.user") return;
    this.reserve(framed.length).write(framed, this.slabEnd, "latin1");
    this.slabEnd += framed.length;
    this.items.replace(number, framed.length);
  }

  /** @returns The slab, with this much room at its end. */
  private reserve(bytes: number): Buffer {
    const { slab } = this;
    if (!slab) this.slabStart = this.slabEnd = 0;
    const { slabStart, slabEnd } = this;
    if (slab && slabEnd + bytes <= slab.length) return slab;
    const used = slabEnd - slabStart;
    const needed = Math.max(minSlabBytes, (used + bytes) * 2);
    const next = slab && needed <= slab.length ? slab : Buffer.allocUnsafeSlow(powerOfTwo(needed));
    slab?.copy(next, 0, slabStart, slabEnd);
    this.slabStart = 0;
    this.slabEnd = used;
    return (this.slab = next);
  }

  /** A copy, because later frames overwrite the slab. */
  private read(at: number, length: number): Buffer {
    const headerBytes = this.slab![at + 1]! < 126 ? 2 : 4;
    return Buffer.from(this.slab!.subarray(at + headerBytes, at + length));
  }
}

const powerOfTwo = (bytes: number): number => 2 ** Math.ceil(Math.log2(bytes));
