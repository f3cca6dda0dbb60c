// Searches the documentation in the index that the build has made.

/** A section: page, id of its heading, heading, and the beginning of its text. */
export type SearchEntry = readonly [page: string, id: string, heading: string, text: string];

/** A section that matches. */
interface SearchResult {
  readonly page: string;
  readonly id: string;
  readonly heading: string;
  /** Title of its page; undefined if the heading is the title. */
  readonly title?: string | undefined;
  /** The part of the text around the first match. */
  readonly excerpt: string;
}

const maxResults = 20;
const excerptLength = 110;

/** Splits a query into the words that must all occur. */
export const wordsOf = (query: string): readonly string[] =>
  query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");

/** Returns the sections with all words, those with the words in the heading first. */
export function findSections(
  index: readonly SearchEntry[],
  query: string,
): readonly SearchResult[] {
  const words = wordsOf(query);
  if (words.length === 0) return [];
  const titles = new Map(index.flatMap(([page, id, title]) => (id === "" ? [[page, title]] : [])));
  return index
    .flatMap(([page, id, heading, text]) => {
      const [title, whole] = [heading.toLowerCase(), `${heading} ${text}`.toLowerCase()];
      if (!words.every((word) => whole.includes(word))) return [];
      const inHeading = words.filter((word) => title.includes(word)).length;
      const score = inHeading * 10 + (title.startsWith(words[0]!) ? 5 : 0) + (id === "" ? 2 : 0);
      const pageTitle = id === "" ? undefined : titles.get(page);
      return [{ score, page, id, heading, title: pageTitle, excerpt: excerptOf(text, words) }];
    })
    .sort((a, b) => b.score - a.score)
    .slice(0, maxResults)
    .map(({ score: _, ...result }) => result);
}

function excerptOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase();
  const places = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  const first = places.length === 0 ? 0 : Math.min(...places);
  const begin = first < excerptLength / 2 ? 0 : text.indexOf(" ", first - excerptLength / 2) + 1;
  const excerpt = text.slice(begin, begin + excerptLength).trim();
  const end = begin + excerptLength < text.length ? "…" : "";
  return `${begin > 0 ? "…" : ""}${excerpt}${end}`;
}
