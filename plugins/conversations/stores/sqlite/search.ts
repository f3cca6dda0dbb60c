// Searches the index and cuts excerpts.
import { withoutMarkdown } from "../../../../lib/util.ts";
import type { SearchHit } from "../../service.ts";
import type { Connection } from "./connection.ts";
import type { Row } from "./driver.ts";
import { resultCode } from "./failure.ts";
import { toSummary } from "./history.ts";
import { turnAt, type Beginning } from "./turns.ts";

const maxExcerpt = 200;
/** Words that FTS5 puts around the match. */
const excerptWords = 40;
/** Marks the match inside FTS5; removed from the excerpt. */
const mark = "\u0001";

const sql =
  `SELECT rowid AS id, snippet(words, 0, '${mark}', '', '', ${excerptWords}) AS excerpt ` +
  "FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?";

/** @returns The latest hits first: an order by relevance would read every match. */
export function search(connection: Connection, text: string, limit: number): SearchHit[] {
  return matches(connection, text, limit).flatMap((match) => hitOf(connection, match));
}

/** Text that FTS5 cannot parse is searched as plain words. */
function matches(connection: Connection, text: string, limit: number): Row[] {
  const clean = text.replaceAll("\0", " ").trim();
  if (clean === "") return [];
  try {
    return connection.all(sql, clean, limit);
  } catch (error) {
    if (resultCode(error) > 1) throw error;
  }
  const words = clean.match(/[\p{L}\p{N}\p{M}\p{Co}]+/gu) ?? [];
  if (words.length === 0) return [];
  return connection.all(sql, words.map((word) => `"${word}"`).join(" "), limit);
}

function hitOf(connection: Connection, { id, excerpt }: Row): SearchHit[] {
  const entry = connection.get(
    "SELECT id, conversation, seq, message, op, final, at FROM entry WHERE id = ?",
    id!,
  );
  if (entry === undefined) return [];
  const conversation = connection.get(
    "SELECT * FROM conversation WHERE id = ?",
    entry.conversation!,
  );
  if (conversation === undefined) return [];
  const turn = turnAt(connection, Number(entry.conversation), entry as unknown as Beginning);
  if (turn === undefined) return [];
  const cut = toExcerpt(String(excerpt));
  return [{ conversation: toSummary(conversation), turn, excerpt: cut }];
}

/** Cuts a window around the first mark, and removes all marks and the markup of markdown. */
function toExcerpt(marked: string): string {
  const line = marked.replace(/[^\S\n]+|\n+/g, " ");
  const at = Math.max(0, line.indexOf(mark));
  const before = [...line.slice(0, at).replace(/\p{Cc}/gu, "")];
  const after = [...line.slice(at).replace(/\p{Cc}/gu, "")];
  const lead = Math.max(maxExcerpt / 4, maxExcerpt - after.length);
  const kept = before.slice(Math.max(0, before.length - lead));
  const excerpt = kept.concat(after).join("").slice(0, maxExcerpt).trim();
  return withoutMarkdown(excerpt);
}
