import type { SequenceRange } from "./session-log.ts";

const minCompaction = 32;

/** Things with numbers that follow each other, from 1 on; the oldest leave first, which moves nothing of the rest. */
export class SequenceBuffer<T> {
  private things: (T | undefined)[] = [];
  /** The number of the first place. */
  private base = 1;
  /** The lowest number that is here. */
  first = 1;

  get length(): number {
    return this.next - this.first;
  }

  /** The number the next one gets. */
  get next(): number {
    return this.base + this.things.length;
  }

  push(thing: T | undefined): void {
    this.things.push(thing);
  }

  at(number: number): T | undefined {
    return this.things[number - this.base];
  }

  /** Its place stays. */
  clear(number: number): void {
    this.things[number - this.base] = undefined;
  }

  shift(): T | undefined {
    const { things, first } = this;
    if (this.length === 0) return undefined;
    this.first += 1;
    if (things.length === 1) {
      // leaves its room behind for the next one
      this.base += 1;
      return things.pop();
    }
    const thing = this.at(first);
    this.clear(first);
    const free = this.first - this.base;
    if (free < minCompaction || free < this.length) return thing;
    this.things = things.slice(free);
    this.base = this.first;
    return thing;
  }

  /** From this number on. */
  from(number: number): T[] {
    return this.things.slice(Math.max(number, this.first) - this.base) as T[];
  }
}

type NumberRange = Pick<SequenceRange, "after" | "upTo">;

/** Messages of one stream that are neither delivered nor lost, by their numbers. */
export class PendingReceipts extends SequenceBuffer<string> {
  open = 0;
  /** Somebody had these and not what came before them, which stays for others. */
  private given: Set<number> | undefined = undefined;

  override push(id: string | undefined): void {
    super.push(id);
    if (id !== undefined) this.open += 1;
  }

  override clear(number: number): void {
    if (this.at(number) === undefined) return;
    this.open -= 1;
    this.given?.delete(number);
    super.clear(number);
  }

  give(numberRange: NumberRange): void {
    const given = (this.given ??= new Set());
    this.each(numberRange, (_, number) => given.add(number));
  }

  /** Forgets the oldest up to this number, as long as there are more numbers than may be. */
  forget(upTo: number, most = 0): void {
    while (this.length > most && this.first <= upTo) {
      this.clear(this.first);
      this.shift();
    }
  }

  /** Takes out what was acknowledged, and answers the messages of which nothing is left. */
  take(numberRange: NumberRange): string[] {
    const taken = new Set<string>();
    this.each(numberRange, (id, number) => {
      taken.add(id);
      this.clear(number);
    });
    while (this.length > 0 && this.at(this.first) === undefined) this.shift();
    if (this.open > 0) for (const id of this.from(this.first)) taken.delete(id);
    return [...taken];
  }

  /** Takes out what nobody can have any more, and answers the messages that nobody had. */
  lose(after: number, upTo = Number.POSITIVE_INFINITY): string[] {
    const lost: string[] = [];
    this.each({ after, upTo }, (id, number) => {
      if (!this.given?.has(number)) lost.push(id);
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
