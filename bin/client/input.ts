import { splitLines } from "../lines.ts";

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
