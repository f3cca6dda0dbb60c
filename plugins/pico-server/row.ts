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
