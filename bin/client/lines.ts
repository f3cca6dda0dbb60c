// Splits input into lines and handles them with bounded concurrency.

/**
 * Yields the lines of a text that arrives in chunks, without `\n` or `\r\n`; the last line needs no
 * end. Node's own reader also ends lines at a lone `\r`, and from Node 24 on at U+2028 and U+2029,
 * which JSON text may contain unescaped. Drops a leading byte order mark, which PowerShell writes.
 *
 * @throws The error of `tooLong` if a line exceeds `maxLength` UTF-16 units.
 */
export async function* splitLines(
  chunks: AsyncIterable<string>,
  {
    maxLength = Number.POSITIVE_INFINITY,
    tooLong = () => new RangeError("a line is too long"),
  } = {},
): AsyncGenerator<string, void, undefined> {
  let begun: string[] = [];
  let length = 0;
  let isFirst = true;
  const whole = (): string => begun.splice(0).join("").replace(/\r$/, "");
  for await (const chunk of chunks) {
    const ends = (isFirst && chunk.startsWith("\ufeff") ? chunk.slice(1) : chunk).split("\n");
    isFirst &&= chunk === "";
    const last = ends.pop() ?? "";
    for (const end of ends) {
      begun.push(end);
      length = 0;
      yield whole();
    }
    begun.push(last);
    length += last.length;
    if (length > maxLength) throw tooLong();
  }
  if (length > 0) yield whole();
}

/** Unfinished lines at which reading pauses. */
const maxPending = 200;

/** Characters of a line; no message can be longer. */
const maxLineLength = 48 * 1024 * 1024;

/**
 * Passes lines to `handle` until the input ends or `until` resolves, and waits while 200 are
 * unfinished.
 *
 * @throws If a line is too long.
 */
export async function forEachLine(
  input: NodeJS.ReadStream,
  handle: (line: string) => Promise<void> | undefined,
  until: Promise<unknown>,
): Promise<void> {
  let isOver = false;
  void until.then(() => {
    isOver = true;
  });
  const tooLong = (): Error =>
    new Error("A line of standard input exceeds the maximum message size.");
  const open = new Set<Promise<void>>();
  for await (const line of splitLines(input.setEncoding("utf8"), {
    maxLength: maxLineLength,
    tooLong,
  })) {
    if (isOver) return;
    const handled = handle(line);
    if (!handled) continue;
    open.add(handled);
    void handled.finally(() => open.delete(handled));
    if (open.size >= maxPending) await Promise.race(open);
  }
}

/** Resolves when the reader of this stream has closed it. */
export function whenReaderGone(output: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => output.on("error", () => resolve()));
}
