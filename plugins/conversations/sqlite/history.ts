// Lists, finds, reads, searches and renames conversations.
import { withoutMarkdown } from "../../../lib/util.ts";
import type { Address } from "../messages.ts";
import type {
  ConversationHistory,
  ConversationSummary,
  Page,
  SearchHit,
  Turn,
} from "../contract.ts";
import { toLine } from "../../../lib/util.ts";
import { payloadOf, toOrigin, toPreview, toShortTitle, toTitle, toTurn } from "../turn-frames.ts";
import { answerTurns, hasAnswer, unfinishedOf } from "../unfinished.ts";
import { readEnd } from "./answers.ts";
import { resultCode, type Connection, type Row } from "./driver.ts";
import { storeErrors } from "./errors.ts";
import { addressOf } from "./live.ts";
import { QuestionIndex } from "./question-index.ts";
import { kinds } from "./schema.ts";
import { complete, type Steps } from "./steps.ts";

type Options<K extends "list" | "read" | "search"> = NonNullable<
  Parameters<ConversationHistory[K]>[K extends "list" ? 0 : 1]
>;

const maxTitle = 200;
/** Conversations that a list names. */
const maxIds = 200;
const maxExcerpt = 200;
/** Words that FTS5 puts around the match. */
const excerptWords = 40;
/** Marks the match inside FTS5; removed from the excerpt. */
const mark = "\u0001";
/** A page ends after this many characters, because turns may contain images. */
const maxPageLength = 4 * 1024 * 1024;
/** Turns that are read together, at most. */
const maxChunk = 64;
/** Turns that are searched for a text: first few, because most conversations end with one. */
const previewTurns = [2, 8];

/** Frames after a settlement among which the next words of its answer are looked for. */
const laterFrames = 32;

/** Rows with their turns, and titles, that are read in one step: 2 to 6 ms. */
const rowsPerStep = 20;
const titlesPerStep = 5_000;

/** The beginning of a word, and the characters between it and its star. */
const beginning =
  /(?<![\p{L}\p{N}\p{M}\p{Co}])([\p{L}\p{N}\p{M}\p{Co}]+)([^\p{L}\p{N}\p{M}\p{Co}*]*)\*/gu;
/** Scripts whose words are short. */
const dense = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

/**
 * A beginning of one or two letters is searched as a word: FTS5 would read the places of each word
 * that begins so, which takes seconds.
 */
const withoutShortBeginnings = (text: string): string =>
  text.replace(beginning, (all, word: string, between: string) =>
    [...word].length < 3 && !dense.test(word) ? `${word}${between}` : all,
  );

const clamp = (value: number, max: number): number =>
  Math.min(max, Math.max(1, Math.floor(value) || 1));

const toSummary = (row: Row): ConversationSummary => ({
  id: String(row.public_id),
  channel: String(row.channel),
  session: String(row.session),
  title: String(row.name ?? row.title),
  renamed: row.name !== null,
  createdAt: Number(row.created_at),
  usedAt: Number(row.used_at),
  turns: Number(row.turns),
});

const lengthOf = ({ content, attachments = [], toolCalls = [] }: Turn): number =>
  attachments.reduce(
    (sum, { url = "" }) => sum + url.length,
    content.length + (toolCalls.length > 0 ? JSON.stringify(toolCalls).length : 0),
  );

interface Reading {
  /** Number next to which the reading starts. */
  readonly from: number;
  readonly isForward: boolean;
  readonly limit: number;
}

export class History {
  private readonly connection: Connection;
  private readonly questions: QuestionIndex;
  /** Makes everything readable that was appended before. */
  private readonly prepare: () => void;
  private readonly isRunning: (address: Address, request: string) => boolean;

  /** @param isRunning - True for a message that the application works on. */
  constructor(connection: Connection, prepare: () => void, isRunning: History["isRunning"]) {
    this.connection = connection;
    this.questions = new QuestionIndex(connection);
    this.prepare = prepare;
    this.isRunning = isRunning;
  }

  list(options?: Options<"list">): Page<ConversationSummary> {
    return complete(this.listing(options));
  }

  /** Lists conversations. Other work may pass at each step. */
  *listing({ before, limit = 50, query, ids }: Options<"list"> = {}): Steps<
    Page<ConversationSummary>
  > {
    this.prepare();
    if (ids) return { items: yield* this.withPreviews(this.named(ids.slice(0, maxIds))) };
    const last = before === undefined ? Number.MAX_SAFE_INTEGER : numberOf(before, /^(\d{1,15})$/);
    const size = clamp(limit, 200);
    const text = query?.slice(0, maxTitle).toLowerCase() || null;
    const rows = text === null ? this.latest(last, size + 1) : yield* this.titled(text, last, size);
    const items = yield* this.withPreviews(rows.slice(0, size));
    return rows.length > size ? { items, before: String(rows[size - 1]!.last) } : { items };
  }

  private *withPreviews(rows: readonly Row[]): Steps<ConversationSummary[]> {
    const items: ConversationSummary[] = [];
    for (const [at, row] of rows.entries()) {
      if (at % rowsPerStep === rowsPerStep - 1) yield;
      items.push({ ...toSummary(row), ...this.previewOf(row) });
    }
    return items;
  }

  private named(ids: readonly string[]): Row[] {
    const sql =
      "SELECT * FROM conversation WHERE public_id IN (SELECT value FROM json_each(?)) " +
      "AND last > 0 ORDER BY last DESC";
    return this.connection.all(sql, JSON.stringify(ids));
  }

  private latest(before: number, limit: number): Row[] {
    const sql = "SELECT * FROM conversation WHERE last < ? AND last > 0 ORDER BY last DESC LIMIT ?";
    return this.connection.all(sql, before, limit);
  }

  /** Looks for a text in titles and names of sessions, a slice in each step. */
  private *titled(text: string, before: number, size: number): Steps<Row[]> {
    const end =
      "SELECT last FROM conversation WHERE last < ? AND last > 0 ORDER BY last DESC " +
      `LIMIT 1 OFFSET ${titlesPerStep - 1}`;
    const sql =
      "SELECT * FROM conversation WHERE last < ? AND last >= ? " +
      "AND (instr(folded, ?) > 0 OR instr(lower(session), ?) > 0) ORDER BY last DESC LIMIT ?";
    const rows: Row[] = [];
    for (let at = before; at > 1 && rows.length <= size; yield) {
      const from = this.connection.number(end, at) || 1;
      rows.push(...this.connection.all(sql, at, from, text, text, size + 1 - rows.length));
      at = from;
    }
    return rows;
  }

  find({ channel, session }: Address): ConversationSummary | undefined {
    this.prepare();
    const sql = "SELECT * FROM conversation WHERE channel = ? AND session = ? AND last > 0";
    const row = this.connection.get(sql, channel, session);
    return row && toSummary(row);
  }

  get(id: string): ConversationSummary {
    this.prepare();
    return toSummary(this.requireRow(id));
  }

  /** Reads turns, oldest first. Large turns end the page before the limit. */
  read(id: string, { before, after, limit = 50 }: Options<"read"> = {}): Page<Turn> {
    this.prepare();
    const row = this.requireRow(id);
    const conversation = Number(row.id);
    // Numbers continue when the epoch changes, so only the number of a cursor counts.
    const cursor = /^[0-9A-Za-z]{0,64}:(\d{1,15})$/;
    const isForward = before === undefined && after !== undefined;
    const given = before ?? after;
    const from = given === undefined ? Number.MAX_SAFE_INTEGER : numberOf(given, cursor);
    const items = this.turns(conversation, { from, isForward, limit: clamp(limit, 200) });
    if (!isForward) items.reverse();
    this.markLost(row, items);
    this.markUnfinished(row, items);
    const [first] = items;
    if (first === undefined) return { items };
    const older = this.turns(conversation, { from: first.seq, isForward: false, limit: 1 });
    return older.length > 0 ? { items, before: `${String(row.epoch)}:${first.seq}` } : { items };
  }

  /** A message that no process works on and that has no complete answer ended with its process. */
  private markLost(row: Row, items: Turn[]): void {
    for (const [at, turn] of items.entries()) {
      const { role, outcome, requestId: request, seq } = turn;
      if (role === "assistant" || request === undefined || outcome !== undefined) continue;
      if (this.isRunning(addressOf(row), request)) continue;
      const reading = { from: seq, isForward: true, limit: answerTurns };
      const next = this.turns(Number(row.id), reading);
      if (!hasAnswer(next, request)) items[at] = { ...turn, outcome: "lost" };
    }
  }

  /** Adds what became of answered questions. */
  private markUnfinished(row: Row, items: Turn[]): void {
    const conversation = Number(row.id);
    const address = addressOf(row);
    for (const [at, turn] of items.entries()) {
      if (turn.question?.state !== "settled") continue;
      const unfinished = unfinishedOf(turn, {
        isWaiting: (id) => this.questions.isUndelivered(conversation, id),
        isRunning: (request) => this.isRunning(address, request),
        endOf: (request) => readEnd(this.connection, conversation, request),
        later: () => this.laterFrames(conversation, turn.seq),
      });
      if (unfinished) items[at] = { ...turn, unfinished };
    }
  }

  /** @param turn - Position of the turn that asks. Its latest frame settles it. */
  private laterFrames(conversation: number, turn: number) {
    const settled =
      "SELECT coalesce(max(seq), ?2) AS seq FROM entry WHERE conversation = ?1 AND turn = ?2";
    const sql =
      `SELECT kind, frame FROM entry WHERE conversation = ?1 AND seq > (${settled}) ` +
      `AND kind BETWEEN 1 AND 3 ORDER BY seq LIMIT ${laterFrames}`;
    return this.connection.all(sql, conversation, turn).map(({ kind, frame }) => ({
      isUser: kind === kinds.user,
      request: payloadOf(frame as Uint8Array).request_id,
    }));
  }

  /** @returns The latest hits first: an order by relevance would read every match. */
  search(text: string, options?: Options<"search">): readonly SearchHit[] {
    return complete(this.searching(text, options));
  }

  /** Searches. Other work may pass at each step. */
  *searching(text: string, { limit = 20 }: Options<"search"> = {}): Steps<readonly SearchHit[]> {
    this.prepare();
    const hits: SearchHit[] = [];
    for (const [at, row] of this.matches(text.slice(0, maxTitle), clamp(limit, 100)).entries()) {
      if (at % rowsPerStep === rowsPerStep - 1) yield;
      hits.push(...this.hitOf(row));
    }
    return hits;
  }

  /** Sets the title; an empty one restores the one made of the first words. */
  rename(id: string, title: string): void {
    const row = this.requireRow(id);
    const name = toShortTitle(title) || null;
    this.connection.run(
      "UPDATE conversation SET name = ?, folded = ? WHERE id = ?",
      name,
      (name ?? String(row.title)).toLowerCase(),
      Number(row.id),
    );
  }

  /** @throws not_found if there is no such conversation, or nothing was ever said in it. */
  requireRow(id: string): Row {
    const row = this.connection.get(
      "SELECT * FROM conversation WHERE public_id = ? AND last > 0",
      id,
    );
    if (row === undefined)
      throw storeErrors.not_found(`conversation with the id ${toLine(id).slice(0, 64)}`);
    return row;
  }

  /** The title made of the first turns, after the one that made it was deleted. */
  firstTitle(
    conversation: number,
    deleted: number,
  ): { readonly title: string; readonly titleTurn: number } | undefined {
    for (const turn of this.turns(conversation, { from: 0, isForward: true, limit: 8 })) {
      const title = turn.seq === deleted ? "" : toTitle(turn.content);
      if (title !== "") return { title, titleTurn: turn.seq };
    }
    return undefined;
  }

  private previewOf(row: Row): Pick<ConversationSummary, "preview" | "door" | "sender"> {
    const reading = { from: Number.MAX_SAFE_INTEGER, isForward: false };
    let found = {};
    for (const limit of previewTurns) {
      const turns = this.turns(Number(row.id), { ...reading, limit }).reverse();
      const preview = toPreview(turns);
      found = { ...(preview !== undefined && { preview }), ...toOrigin(turns) };
      if (preview !== undefined && turns.some(({ role }) => role === "user")) break;
    }
    return found;
  }

  /** Reads turns in one direction, next to `from`, which is not included. */
  private turns(conversation: number, { from, isForward, limit }: Reading): Turn[] {
    const chunk = Math.min(limit, maxChunk);
    const [comparison, order] = isForward ? [">", "ASC"] : ["<", "DESC"];
    const openers =
      "SELECT id, seq, at, kind, final, message FROM entry " +
      `WHERE conversation = ? AND seq ${comparison} ? AND turn IS NULL ` +
      `AND kind BETWEEN 1 AND 3 ORDER BY seq ${order} LIMIT ?`;
    const turns: Turn[] = [];
    let at = from;
    let length = 0;
    for (;;) {
      const rows = this.connection.all(openers, conversation, at, chunk);
      for (const opener of rows) {
        at = Number(opener.seq);
        const turn = this.turnOf(conversation, opener);
        if (turn === undefined) continue;
        turns.push(turn);
        length += lengthOf(turn);
        if (turns.length === limit || length > maxPageLength) return turns;
      }
      if (rows.length < chunk) return turns;
    }
  }

  /** @returns Undefined if the turn was deleted, or is a placeholder. */
  private turnOf(conversation: number, opener: Row): Turn | undefined {
    const { id, seq, at, kind, message } = opener;
    const latest =
      this.connection.get(
        "SELECT kind, final, frame FROM entry WHERE conversation = ? AND turn = ? " +
          "ORDER BY seq DESC LIMIT 1",
        conversation,
        seq!,
      ) ?? this.connection.get("SELECT kind, final, frame FROM entry WHERE id = ?", id!);
    if (latest === undefined || latest.kind === kinds.delete) return undefined;
    const growing =
      latest.final === 1 || message === null
        ? undefined
        : this.connection.get(
            "SELECT frame FROM growing WHERE conversation = ? AND message = ?",
            conversation,
            message!,
          );
    const turn = toTurn({
      seq: Number(seq),
      message: (message as string | null) ?? undefined,
      isUser: kind === kinds.user,
      final: latest.final === 1,
      at: Number(at),
      frame: (growing ?? latest).frame as Uint8Array,
    });
    if (turn?.requestId === undefined) return turn;
    return { ...turn, ...readEnd(this.connection, conversation, turn.requestId) };
  }

  /** Text that FTS5 cannot parse is searched as plain words. */
  private matches(text: string, limit: number): Row[] {
    const sql =
      `SELECT rowid AS id, snippet(words, 0, '${mark}', '', '', ${excerptWords}) AS excerpt ` +
      "FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?";
    const clean = withoutShortBeginnings(text.replaceAll("\0", " ")).trim();
    if (clean === "") return [];
    try {
      return this.connection.all(sql, clean, limit);
    } catch (error) {
      if (resultCode(error) > 1) throw error;
    }
    const words = clean.match(/[\p{L}\p{N}\p{M}\p{Co}]+/gu) ?? [];
    if (words.length === 0) return [];
    return this.connection.all(sql, words.map((word) => `"${word}"`).join(" "), limit);
  }

  private hitOf({ id, excerpt }: Row): SearchHit[] {
    const found = this.connection.get(
      "SELECT conversation, seq, turn FROM entry WHERE id = ?",
      id!,
    );
    const row =
      found && this.connection.get("SELECT * FROM conversation WHERE id = ?", found.conversation!);
    if (!found || !row) return [];
    const opener = this.connection.get(
      "SELECT id, seq, at, kind, final, message FROM entry WHERE conversation = ? AND seq = ?",
      found.conversation!,
      found.turn ?? found.seq!,
    );
    const turn = opener && this.turnOf(Number(found.conversation), opener);
    return turn
      ? [{ conversation: toSummary(row), turn, excerpt: toExcerpt(String(excerpt)) }]
      : [];
  }
}

/** @throws not_found if the cursor is malformed. */
function numberOf(cursor: string, pattern: RegExp): number {
  const found = pattern.exec(cursor);
  if (found === null) throw storeErrors.not_found("page at this cursor");
  return Number(found[1]);
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
