const lineEnd = 10;
/** A line that comes byte by byte: a part takes far more than what it holds. */
const maxParts = 1_024;

export interface LineReaderOptions {
  /** Bytes of the longest line that is taken. */
  readonly most: number;
  readonly line: (text: string) => void;
  /** A longer line was dropped; with its first bytes. */
  readonly tooLong: (beginning: string) => void;
}

/** Cuts a stream of bytes into lines; holds `most` bytes at any time, whatever comes. A byte order mark before the
 *  first one, as .NET and some PHP files write it, is none of its text. */
export function createLineReader({ most, line, tooLong }: LineReaderOptions): {
  accept(chunk: Buffer): void;
  end(): void;
} {
  let parts: Buffer[] = [];
  let size = 0;
  let isDropping = false;
  let isFirst = true;

  function keep(part: Buffer): void {
    if (isDropping || part.byteLength === 0) return;
    parts.push(part);
    size += part.byteLength;
    if (parts.length === maxParts) parts = [Buffer.concat(parts)];
    if (size <= most) return;
    isDropping = true;
    const beginning = Buffer.concat(parts).toString("utf8", 0, 4_096);
    parts = [];
    size = 0;
    tooLong(beginning);
  }

  function finish(): void {
    const whole = isDropping ? "" : Buffer.concat(parts).toString().replace(/\r$/, "");
    const text = isFirst && whole.startsWith("\ufeff") ? whole.slice(1) : whole;
    isFirst = false;
    parts = [];
    size = 0;
    isDropping = false;
    if (text.trim() !== "") line(text);
  }

  return {
    accept(chunk) {
      let from = 0;
      for (let at = chunk.indexOf(lineEnd); at !== -1; at = chunk.indexOf(lineEnd, from)) {
        keep(chunk.subarray(from, at));
        finish();
        from = at + 1;
      }
      keep(chunk.subarray(from));
    },
    end: finish,
  };
}
