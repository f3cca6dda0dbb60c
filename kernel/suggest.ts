/** Whether so many single-character edits (insert, delete, replace, swap of neighbours) lead from one word to the other.
 *  At most three: each doubles the ways to look at more than twice over. */
function within(edits: number, a: string, b: string): boolean {
  let same = 0;
  while (same < a.length && a[same] === b[same]) same += 1;
  const [from, to] = [a.slice(same), b.slice(same)];
  if (from === "" || to === "") return Math.max(from.length, to.length) <= edits;
  if (edits === 0) return false;
  const after = (left: number, right: number): boolean => within(edits - 1, from.slice(left), to.slice(right));
  return after(1, 1) || after(1, 0) || after(0, 1) || (from[0] === to[1] && from[1] === to[0] && after(2, 2));
}

/** The known word a person most likely meant: at most a third of it mistyped, and at most three characters. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  const candidates = [...known];
  const fits = (edits: number) => (candidate: string): boolean =>
    edits <= Math.max(1, candidate.length / 3) && within(edits, word.slice(0, 64), candidate);
  return [0, 1, 2, 3].map((edits) => candidates.find(fits(edits))).find((found) => found !== undefined);
}

/** ` Did you mean "…"?`, to follow a sentence, or nothing. */
export function hint(word: string, known: Iterable<string>): string {
  const meant = nearest(word, known);
  return meant === undefined ? "" : ` Did you mean "${meant}"?`;
}
