// Limits the size of one reply of Redis: the client library would collect an endless one.

const carriageReturn = 13;
const lineEnd = 2;
const maxLineBytes = 64 * 1024;

/** Measures the replies in a stream of the Redis protocol (RESP 2) without keeping them. */
export class ReplyMeter {
  private readonly maxBytes: number;
  /** Bytes of the present reply. */
  private bytes = 0;
  /** Bytes of the present text that have not arrived, with its line end. */
  private skip = 0;
  /** The start of a line whose end has not arrived. */
  private line = "";
  /** Items that each open list still lacks, the innermost last. */
  private readonly open: number[] = [];

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** @returns False if the present reply is, or will be, larger than the limit. */
  accept(chunk: Buffer): boolean {
    let at = 0;
    while (at < chunk.length) {
      const from = at;
      if (this.skip > 0) {
        const passed = Math.min(this.skip, chunk.length - at);
        this.skip -= passed;
        at += passed;
        this.bytes += passed;
        if (this.skip === 0) this.itemEnded();
      } else {
        const end = chunk.indexOf(carriageReturn, at);
        const to = end < 0 ? chunk.length : end;
        this.line += chunk.toString("latin1", at, Math.min(to, at + maxLineBytes));
        at = end < 0 ? chunk.length : end + 1;
        this.bytes += at - from;
        if (end >= 0) this.lineEnded();
        else if (this.line.length > maxLineBytes) this.line = this.line.slice(0, maxLineBytes);
      }
      if (this.bytes + this.skip > this.maxBytes) return false;
    }
    return true;
  }

  private lineEnded(): void {
    // The line feed of the line before may be its first character.
    const line = this.line.replace(/^\n/, "");
    this.line = "";
    const count = Number(line.slice(1));
    if (line.startsWith("$") && count >= 0) {
      // The line feed of this line, the text and its line end.
      this.skip = 1 + count + lineEnd;
    } else if (line.startsWith("*") && count > 0) this.open.push(count);
    else this.itemEnded();
  }

  private itemEnded(): void {
    while (this.open.length > 0) {
      const left = this.open.pop()! - 1;
      if (left > 0) return void this.open.push(left);
    }
    this.bytes = 0;
  }
}
