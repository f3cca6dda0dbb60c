// Splits a byte stream into lines, with bounded memory.

const lineEnd = 10;
/** A line may arrive byte by byte, and each part needs far more memory than its content. */
const maxParts = 1_024;
/** Bytes of a dropped line that are passed to `tooLong`. */
const maxBeginningBytes = 4_096;

interface LineReaderOptions {
  readonly maxLineBytes: number;
  readonly line: (text: string) => void;
  /** Receives the first bytes of a line that was dropped because it was too long. */
  readonly tooLong: (beginning: string) => void;
}

export type LineReader = ReturnType<typeof createLineReader>;

/**
 * Creates a reader that never buffers more than `maxLineBytes`. It removes a byte order mark
 * before the first line, as .NET and some PHP scripts write it.
 */
export function createLineReader({ maxLineBytes, line, tooLong }: LineReaderOptions) {
  let parts: Buffer[] = [];
  let size = 0;
  let isDropping = false;
  let isFirst = true;

  function keep(part: Buffer): void {
    if (isDropping || part.byteLength === 0) return;
    parts.push(part);
    size += part.byteLength;
    if (parts.length === maxParts) parts = [Buffer.concat(parts)];
    if (size <= maxLineBytes) return;
    isDropping = true;
    const beginning = Buffer.concat(parts).toString("utf8", 0, maxBeginningBytes);
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
    accept(chunk: Buffer): void {
      let start = 0;
      for (let end = chunk.indexOf(lineEnd); end !== -1; end = chunk.indexOf(lineEnd, start)) {
        keep(chunk.subarray(start, end));
        finish();
        start = end + 1;
      }
      keep(chunk.subarray(start));
    },
    /** Passes on the last line, if it has no line end. */
    end: finish,
  };
}
