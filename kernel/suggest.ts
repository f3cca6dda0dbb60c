/** Fewest single-character edits (insert, delete, replace, swap of neighbours) from one word to the other. */
function distance(a: string, b: string): number {
  let older: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) best = Math.min(best, older[j - 2]! + 1);
      row.push(best);
    }
    [older, previous] = [previous, row];
  }
  return previous[b.length]!;
}

/** The known word a person most likely meant: at most a third of it mistyped, and at most three characters. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let least = Infinity;
  for (const candidate of known) {
    const edits = distance(word.slice(0, 64), candidate);
    const most = Math.min(3, Math.max(1, Math.floor(candidate.length / 3)));
    if (edits < least && edits <= most) [best, least] = [candidate, edits];
  }
  return best;
}

/** ` Did you mean "…"?`, to follow a sentence, or nothing. */
export function hint(word: string, known: Iterable<string>): string {
  const meant = nearest(word, known);
  return meant === undefined ? "" : ` Did you mean "${meant}"?`;
}
