/**
 * Maps ids to a text and two numbers in typed arrays. Objects would live just long enough for
 * the garbage collector to copy them twice and then to need a full collection.
 */

const fieldsPerRow = 6;
/** Fields of a row. The characters of the text follow those of the id. */
const [hashField, startField, idLengthField, textLengthField, valueField, stateField] = [
  0, 1, 2, 3, 4, 5,
];
const removed = -1;
const minRows = 4;
const minChars = 128;
/** A table with fewer rows is searched without buckets, because most sessions are short. */
const maxRowsWithoutBuckets = 16;

/** FNV-1a. Ids that collide on purpose slow down one table, which has few rows. */
export function hashOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  return hash ^ (hash >>> 15);
}

export class IdTable {
  /** Rows that are not removed. */
  size = 0;
  private rowCount = 0;
  private charCount = 0;
  private chars = new Uint16Array(minChars);
  private rows = new Float64Array(minRows * fieldsPerRow);
  /** Row numbers by hash, plus 1, with linear probing. 0: free. */
  private buckets: Int32Array | undefined = undefined;

  /**
   * @param hash - The result of `hashOf`, which serves several tables.
   * @returns The row; -1 if the id is unknown.
   */
  find(id: string, hash = hashOf(id)): number {
    const { buckets, rowCount } = this;
    if (!buckets) {
      for (let row = 0; row < rowCount; row++) if (this.isRowOf(row, id, hash)) return row;
      return -1;
    }
    const mask = buckets.length - 1;
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const row = buckets[at]! - 1;
      if (row === -1 || this.isRowOf(row, id, hash)) return row;
    }
  }

  /** Adds a row, or replaces the row of this id. */
  set(id: string, text: string, value: number, state: number): void {
    const hash = hashOf(id);
    const found = this.find(id, hash);
    const row = found === -1 ? this.addRow(hash) : found;
    // The characters of a row that changes often are written once.
    if (found === -1 || !this.hasText(row, text)) this.writeText(row, id, text);
    this.rows[row * fieldsPerRow + valueField] = value;
    this.setState(row, state);
  }

  /** Does nothing for row -1. */
  remove(row: number): void {
    if (row === -1) return;
    this.rows[row * fieldsPerRow + idLengthField] = removed;
    this.size -= 1;
  }

  /** Removes all rows and keeps the memory. */
  clear(): this {
    this.size = this.rowCount = this.charCount = 0;
    this.buckets?.fill(0);
    return this;
  }

  /** How many rows have been added, removed ones included. */
  get added(): number {
    return this.rowCount;
  }

  text(row: number): string {
    const start = this.field(row, startField) + this.field(row, idLengthField);
    return String.fromCharCode(
      ...this.chars.subarray(start, start + this.field(row, textLengthField)),
    );
  }

  hasText(row: number, text: string): boolean {
    const start = this.field(row, startField) + this.field(row, idLengthField);
    return this.field(row, textLengthField) === text.length && this.matches(start, text);
  }

  value(row: number): number {
    return this.field(row, valueField);
  }

  state(row: number): number {
    return this.field(row, stateField);
  }

  setState(row: number, state: number): void {
    this.rows[row * fieldsPerRow + stateField] = state;
  }

  private field(row: number, field: number): number {
    return this.rows[row * fieldsPerRow + field]!;
  }

  private isRowOf(row: number, id: string, hash: number): boolean {
    return (
      this.field(row, hashField) === hash &&
      this.field(row, idLengthField) === id.length &&
      this.matches(this.field(row, startField), id)
    );
  }

  private matches(start: number, text: string): boolean {
    const { chars } = this;
    for (let at = 0; at < text.length; at++)
      if (chars[start + at] !== text.charCodeAt(at)) return false;
    return true;
  }

  private addRow(hash: number): number {
    const row = this.rowCount++;
    this.size += 1;
    if (this.rowCount * fieldsPerRow > this.rows.length) {
      const rows = new Float64Array(this.rows.length * 2);
      rows.set(this.rows);
      this.rows = rows;
    }
    this.rows[row * fieldsPerRow + hashField] = hash;
    if (this.rowCount * 2 > (this.buckets?.length ?? maxRowsWithoutBuckets * 2)) this.rehash();
    else if (this.buckets) this.place(this.buckets, row);
    return row;
  }

  private rehash(): void {
    const buckets = new Int32Array(Math.max(maxRowsWithoutBuckets, this.buckets?.length ?? 0) * 4);
    for (let row = 0; row < this.rowCount; row++) this.place(buckets, row);
    this.buckets = buckets;
  }

  private place(buckets: Int32Array, row: number): void {
    const mask = buckets.length - 1;
    let at = this.field(row, hashField) & mask;
    while (buckets[at] !== 0) at = (at + 1) & mask;
    buckets[at] = row + 1;
  }

  private writeText(row: number, id: string, text: string): void {
    const { rows, charCount } = this;
    const base = row * fieldsPerRow;
    rows[base + startField] = charCount;
    rows[base + idLengthField] = id.length;
    rows[base + textLengthField] = text.length;
    this.reserveChars(id.length + text.length);
    this.write(id);
    this.write(text);
  }

  private reserveChars(count: number): void {
    const needed = this.charCount + count;
    if (needed <= this.chars.length) return;
    const chars = new Uint16Array(Math.max(needed, this.chars.length * 2));
    chars.set(this.chars);
    this.chars = chars;
  }

  private write(text: string): void {
    const { chars, charCount } = this;
    for (let at = 0; at < text.length; at++) chars[charCount + at] = text.charCodeAt(at);
    this.charCount = charCount + text.length;
  }
}
