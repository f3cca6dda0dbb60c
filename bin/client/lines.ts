/** Lines of a text that comes in pieces, without their `\n` or `\r\n`; the last one needs no end. Node's own reader
 *  also ends lines at a lone `\r`, and from Node 24 on at U+2028 and U+2029, which a text in JSON may hold as they are.
 *  A byte order mark before the first one, as PowerShell writes it, is left out.
 *  Throws what `tooLong` makes when a line is longer than `most` UTF-16 units. */
export async function* splitLines(
  pieces: AsyncIterable<string>,
  { most = Number.POSITIVE_INFINITY, tooLong = () => new RangeError("a line is too long") } = {},
): AsyncGenerator<string, void, undefined> {
  let begun: string[] = [];
  let length = 0;
  let isFirst = true;
  const whole = (): string => begun.splice(0).join("").replace(/\r$/, "");
  for await (const piece of pieces) {
    const ends = (isFirst && piece.startsWith("\ufeff") ? piece.slice(1) : piece).split("\n");
    isFirst &&= piece === "";
    const last = ends.pop() ?? "";
    for (const end of ends) {
      begun.push(end);
      length = 0;
      yield whole();
    }
    begun.push(last);
    length += last.length;
    if (length > most) throw tooLong();
  }
  if (length > 0) yield whole();
}

/** Messages that may be on their way before more is read. */
const maxPending = 200;

/** Characters of a line: more than any message can have. */
const maxLineLength = 48 * 1024 * 1024;

/** Reads lines one after the other, no faster than `take` settles them, until the input ends or `until` resolves.
 *  Rejects at a line that is too long. */
export async function forEachLine(
  input: NodeJS.ReadStream,
  take: (line: string) => Promise<void> | undefined,
  until: Promise<unknown>,
): Promise<void> {
  let isOver = false;
  void until.then(() => {
    isOver = true;
  });
  const tooLong = (): Error =>
    new Error("A line of standard input is longer than a message can be.");
  const open = new Set<Promise<void>>();
  for await (const line of splitLines(input.setEncoding("utf8"), {
    most: maxLineLength,
    tooLong,
  })) {
    if (isOver) return;
    const taken = take(line);
    if (!taken) continue;
    open.add(taken);
    void taken.finally(() => open.delete(taken));
    if (open.size >= maxPending) await Promise.race(open);
  }
}

/** Resolves when nobody reads what is written here any more. */
export function whenReaderGone(output: NodeJS.WriteStream): Promise<void> {
  return new Promise((left) => output.on("error", () => left()));
}
