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
